/**
 * Writes entries into a new folder, or only checks them. A name comes once, and after the folder that contains it: so
 * nothing is ever written through a link. Modes of folders are set last, as they may forbid writing. Files of the
 * service get the modes that the service itself would give; files of an app keep their permission bits. Everything
 * belongs to the restoring user until the rows were checked.
 */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fchmodSync,
  futimesSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Bytes, MarkEntry } from '../../tar/index.ts'
import { type BackupEntry, broken, MAX } from '../entry.ts'
import { putMarks } from '../marks.ts'
import { checkName, isOfTenant, isPassage } from '../names.ts'
import { skipPadding } from '../tar.ts'
import type { FreeSpace } from './free-space.ts'

type Options = {
  folder: string
  /** Whether to write an entry. */
  isWanted(path: string): boolean
  freeSpace: Pick<FreeSpace, 'take'>
  signal?: AbortSignal | undefined
  max?: typeof MAX
}

/** A line of base64, and a margin. */
const MAX_KEY_BYTES = 1024

export function createUnpacker({ folder, isWanted, freeSpace, signal, max = MAX }: Options) {
  const kinds = new Map<string, BackupEntry['kind']>()
  const folders: BackupEntry[] = []
  const marks: MarkEntry[] = []
  let nameBytes = 0

  function check(entry: BackupEntry) {
    const { path, kind, to = '' } = entry
    checkName(entry)
    const named = JSON.stringify(path)
    if (kinds.has(path)) throw broken(`it has ${named} twice`)
    const above = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : undefined
    if (above !== undefined && kinds.get(above) !== 'folder') throw broken(`${named} lies in no folder`)
    if (kind === 'hardlink' && kinds.get(to) !== 'file') throw broken(`${named} is a link to a missing file`)
    nameBytes += path.length + to.length
    if (kinds.size >= max.entries || nameBytes > max.nameBytes) throw broken('it has more entries than any data folder')
    if (path === 'master.key' && entry.size > MAX_KEY_BYTES) throw broken('its key is malformed')
    kinds.set(path, kind)
  }

  function place(entry: BackupEntry) {
    const { path, kind, time, to = '' } = entry
    const full = join(folder, path)
    if (kind === 'folder') {
      mkdirSync(full, { mode: 0o700 })
      folders.push(entry)
    } else if (kind === 'symlink') {
      symlinkSync(to, full)
      lutimesSync(full, time, time)
    } else if (kind === 'hardlink') linkSync(join(folder, to), full)
    if (kind === 'whiteout' || (kind === 'folder' && entry.opaque)) marks.push({ ...entry, kind })
  }

  /** The digest of what was read. */
  async function file({ path, mode, time, size }: BackupEntry, bytes: Bytes): Promise<string> {
    const hash = createHash('sha256')
    const target = isWanted(path) ? openSync(join(folder, path), 'wx', 0o600) : undefined
    try {
      for await (const piece of bytes.pieces(size)) {
        signal?.throwIfAborted()
        hash.update(piece)
        if (target !== undefined) writeAll(target, piece)
      }
      if (target !== undefined) {
        fchmodSync(target, modeOf({ path, mode, kind: 'file' }))
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
    async take(entry: BackupEntry, bytes: Bytes): Promise<string | undefined> {
      check(entry)
      if (isWanted(entry.path)) freeSpace.take(entry.size)
      if (entry.kind === 'file') return file(entry, bytes)
      if (isWanted(entry.path)) place(entry)
      return undefined
    },

    /** To be called after the last entry. */
    async finish() {
      await putMarks(folder, marks)
      for (const entry of folders.reverse()) {
        const full = join(folder, entry.path)
        chmodSync(full, modeOf(entry))
        lutimesSync(full, entry.time, entry.time)
      }
    },
    has: (path: string): boolean => kinds.has(path),
  }
}

export type Unpacker = ReturnType<typeof createUnpacker>

/** The modes that the service itself uses; files of an app keep their permission bits. No file is ever setuid or setgid. */
function modeOf({ path, kind, mode }: Pick<BackupEntry, 'path' | 'kind' | 'mode'>): number {
  if (isOfTenant(path)) return mode & 0o777
  if (kind === 'file') return 0o600
  return isPassage(path) ? 0o711 : 0o700
}

/** A nearly full disk may write only a part. */
function writeAll(file: number, piece: Buffer) {
  for (let from = 0; from < piece.byteLength; ) from += writeSync(file, piece, from)
}
