/**
 * Reads parts of the data folder as entries, in the order in which they can be restored. File system calls are
 * synchronous: this process does nothing else, and for a hundred thousand small files that takes a third of the time.
 */
import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync, type Stats } from 'node:fs'
import type { Opaque } from '../tar/index.ts'
import type { BackupEntry } from './entry.ts'
import { isNameOf } from './names.ts'

export type FoundFile = { entry: BackupEntry; source?: Source }

/** The bytes of a file, one after the other. */
export type Source = {
  /** Puts at most `count` bytes into the target, at least one, and returns how many. */
  read(target: Buffer, at: number, count: number): number
  close(): void
}

/** The marks of folders, and the first paths of files that have several. */
type Known = { marks?: ReadonlyMap<string, Opaque> | undefined; links?: Map<number, string> }

export function createDisk(dataDir: string) {
  /** Names that are not UTF-8, and kinds that no program needs, such as sockets: they are reported and left out. */
  const leftOut: string[] = []
  /** Paths are made of names: there is nothing to normalize. */
  const fullOf = (path: string): string => `${dataDir}/${path}`

  /** Paths below a part of the data folder, folders before their content. */
  function* pathsIn(path: string): Generator<{ path: string; isFolder: boolean }> {
    for (const entry of readdirSync(fullOf(path), { withFileTypes: true })) {
      const inner = `${path}/${entry.name}`
      // A name that is not UTF-8 is read with this character in it, and cannot be opened by that text.
      if (entry.name.includes('\u{fffd}')) leftOut.push(inner)
      else {
        yield { path: inner, isFolder: entry.isDirectory() }
        if (entry.isDirectory()) yield* pathsIn(inner)
      }
    }
  }

  /** Undefined for a kind that a backup does not contain. */
  function find(path: string, stats: Stats, { marks, links }: Known = {}): FoundFile | undefined {
    const full = fullOf(path)
    if (stats.isFile()) {
      const first = stats.nlink > 1 ? links?.get(stats.ino) : undefined
      if (first !== undefined) return { entry: { ...about(path, stats), kind: 'hardlink', to: first } }
      if (stats.nlink > 1) links?.set(stats.ino, path)
      return openFile(full, path)
    }
    if (stats.isDirectory()) {
      const opaque = marks?.get(path)
      return { entry: { ...about(path, stats), kind: 'folder', ...(opaque ? { opaque } : {}) } }
    }
    if (stats.isSymbolicLink()) {
      const to = readlinkSync(full)
      if (!to.includes('\u{fffd}')) return { entry: { ...about(path, stats), kind: 'symlink', to } }
    }
    if (stats.isCharacterDevice() && stats.rdev === 0) return { entry: { ...about(path, stats), kind: 'whiteout' } }
    leftOut.push(path)
    return undefined
  }

  function findIfThere(path: string): FoundFile | undefined {
    // Most environments have no values, and an error for each of them would be costly.
    const stats = lstatSync(fullOf(path), { throwIfNoEntry: false })
    return stats && unlessAbsent(() => find(path, stats))
  }

  return {
    dataDir,
    leftOut,
    /** Also undefined if it does not exist. */
    find: findIfThere,

    /** Every folder inside, for callers that need their marks first. */
    foldersIn: (path: string): string[] =>
      [...pathsIn(path)].filter(({ isFolder }) => isFolder).map((found) => found.path),

    /** The whole of a folder that never changes. */
    *tree(path: string, marks?: ReadonlyMap<string, Opaque>): Generator<FoundFile> {
      const links = new Map<number, string>()
      for (const inner of pathsIn(path)) {
        const found = find(inner.path, lstatSync(fullOf(inner.path)), { marks, links })
        if (found) yield found
      }
    },

    /** The files of a folder that is being written to, as far as they belong in a backup. */
    *written(path: string): Generator<FoundFile> {
      const top = findIfThere(path)
      if (top?.entry.kind !== 'folder') return
      yield top
      for (const inner of pathsIn(path)) {
        if (!isNameOf(inner.isFolder ? 'folder' : 'file', inner.path)) continue
        const found = findIfThere(inner.path)
        if (found && isNameOf(found.entry.kind, inner.path)) yield found
      }
    },
  }
}

export type Disk = ReturnType<typeof createDisk>

function unlessAbsent<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

const about = (path: string, { mode, uid, gid, mtimeMs }: Stats) => ({
  path,
  mode: mode & 0o777,
  uid,
  gid,
  time: Math.max(0, Math.floor(mtimeMs / 1000)),
  size: 0,
})

/** At its current length: what is appended meanwhile belongs to the next backup. */
export function openFile(full: string, path: string): FoundFile {
  const file = openSync(full, 'r')
  const stats = fstatSync(file)
  return {
    entry: { ...about(path, stats), kind: 'file', size: stats.size },
    source: {
      read(target, at, count) {
        const got = readSync(file, target, at, count, null)
        if (got === 0) throw new Error(`${full} became shorter while it was read. Try again.`)
        return got
      },
      close: () => closeSync(file),
    },
  }
}
