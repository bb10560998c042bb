/**
 * Puts entries into a folder that nobody uses yet, or only checks them. A name comes once, and under a folder that came before
 * it: so nothing is ever written through a link. Rights of folders come last, as they may forbid to write there.
 */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { broken, type Entry } from './entry.ts'
import { putMarks } from './marks.ts'
import { checkName } from './names.ts'
import { type Bytes, skipPadding } from './tar-read.ts'

type Options = {
  folder: string
  /** Whether to write an entry at all. */
  isWanted(path: string): boolean
}

export function createUnpacker({ folder, isWanted }: Options) {
  const isRoot = process.getuid?.() === 0
  const kinds = new Map<string, Entry['kind']>()
  const folders: Entry[] = []
  const marks: Entry[] = []

  function check(entry: Entry) {
    const { path, kind, to = '' } = entry
    checkName(entry)
    const named = JSON.stringify(path)
    if (kinds.has(path)) throw broken(`it has ${named} twice`)
    const above = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : undefined
    if (above !== undefined && kinds.get(above) !== 'folder') throw broken(`${named} lies in no folder`)
    if (kind === 'hardlink' && kinds.get(to) !== 'file') throw broken(`${named} is a link to no file`)
    kinds.set(path, kind)
  }

  function place(entry: Entry) {
    const { path, kind, uid, gid, time, to = '' } = entry
    const full = join(folder, path)
    if (kind === 'folder') {
      mkdirSync(full, { mode: 0o700 })
      folders.push(entry)
    } else if (kind === 'symlink') {
      symlinkSync(to, full)
      if (isRoot) lchownSync(full, uid, gid)
      lutimesSync(full, time, time)
    } else if (kind === 'hardlink') linkSync(join(folder, to), full)
    if (kind === 'whiteout' || entry.opaque) marks.push(entry)
  }

  /** The digest of what was read. */
  async function file({ path, mode, uid, gid, time, size }: Entry, bytes: Bytes): Promise<string> {
    const hash = createHash('sha256')
    const target = isWanted(path) ? openSync(join(folder, path), 'wx', 0o600) : undefined
    try {
      for await (const piece of bytes.pieces(size)) {
        hash.update(piece)
        if (target !== undefined) writeAll(target, piece)
      }
      if (target !== undefined) {
        if (isRoot) fchownSync(target, uid, gid)
        fchmodSync(target, mode)
        futimesSync(target, time, time)
      }
    } finally {
      if (target !== undefined) closeSync(target)
    }
    await skipPadding(bytes, size)
    return hash.digest('hex')
  }

  return {
    /** The digest of a file's bytes. */
    async take(entry: Entry, bytes: Bytes): Promise<string | undefined> {
      check(entry)
      if (entry.kind === 'file') return file(entry, bytes)
      if (isWanted(entry.path)) place(entry)
      return undefined
    },

    /** When everything is there. */
    async finish() {
      await putMarks(folder, marks)
      for (const { path, mode, uid, gid, time } of folders.reverse()) {
        const full = join(folder, path)
        if (isRoot) lchownSync(full, uid, gid)
        chmodSync(full, mode)
        lutimesSync(full, time, time)
      }
    },
    has: (path: string): boolean => kinds.has(path),
  }
}

export type Unpacker = ReturnType<typeof createUnpacker>

/** A nearly full disk takes a part. */
function writeAll(file: number, piece: Buffer) {
  for (let from = 0; from < piece.byteLength; ) from += writeSync(file, piece, from)
}
