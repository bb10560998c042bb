/** Unpacks an archive into a new folder: never into an existing one, and the folder is removed on failure. */
import { chmod, chown, type FileHandle, lchown, mkdir, open, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { inTurns } from '../base/index.ts'
import type { Contents } from './check.ts'
import { copyContent, readContent } from './content.ts'
import type { ZipEntry } from './directory.ts'
import type { Selected } from './select.ts'

export type UnpackOptions = {
  /** The owner of everything; only root can set another one than itself. */
  uid?: number
  gid?: number
  signal?: AbortSignal
}

export type Unpacked = {
  /** Files and links. */
  files: number
  bytes: number
  skipped: { nodeModules: number; git: number }
  strippedFolder: string | undefined
}

const FOLDER_MODE = 0o755
const AT_ONCE = 16
/** Up to this size a file is read into memory, which is several times as fast as a stream. */
const SMALL_BYTES = 256 * 1024

export async function unpackTo(
  folder: string,
  contents: Contents,
  file: FileHandle,
  { uid, gid, signal }: UnpackOptions,
): Promise<Unpacked> {
  const { files, links, skipped, strippedFolder } = contents
  signal?.throwIfAborted()
  await mkdir(folder, FOLDER_MODE)
  try {
    const owner = uid === undefined && gid === undefined ? undefined : { uid: uid ?? -1, gid: gid ?? -1 }
    const isMasked = ((await stat(folder)).mode & 0o777) !== FOLDER_MODE

    async function makeFolder(path: string) {
      await mkdir(join(folder, path), FOLDER_MODE)
      await finishFolder(join(folder, path))
    }

    async function finishFolder(path: string) {
      if (isMasked) await chmod(path, FOLDER_MODE)
      if (owner) await chown(path, owner.uid, owner.gid)
    }

    async function unpackFile({ path, entry }: Selected<ZipEntry>) {
      const mode = entry.isExecutable ? 0o755 : 0o644
      const content = entry.bytes <= SMALL_BYTES ? await readContent(file, entry) : undefined
      const target = await open(join(folder, path), 'wx', mode)
      try {
        if (isMasked) await target.chmod(mode)
        if (content) await target.writeFile(content)
        else await copyContent(file, entry, target, signal)
        if (owner) await target.chown(owner.uid, owner.gid)
      } finally {
        await target.close()
      }
    }

    await finishFolder(folder)
    for (const level of await folderLevels(contents)) await eachOf(level, AT_ONCE, makeFolder, signal)
    await eachOf(files, AT_ONCE, unpackFile, signal)
    // Last, so that no file is written through a link.
    for (const { path, target } of links) {
      signal?.throwIfAborted()
      await symlink(target, join(folder, path))
      if (owner) await lchown(join(folder, path), owner.uid, owner.gid)
    }
    const bytes = files.reduce((sum, { entry }) => sum + entry.bytes, 0)
    return { files: files.length + links.length, bytes, skipped, strippedFolder }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw signal?.aborted ? signal.reason : error
  }
}

/** All folders, as one list for each depth: parents come first. */
async function folderLevels({ files, folders, links }: Contents): Promise<string[][]> {
  const found = new Set<string>()
  const add = (end: string) => {
    for (let path = end; path !== '.' && !found.has(path); path = dirname(path)) found.add(path)
  }
  for await (const some of inTurns(folders)) for (const { path } of some) add(path)
  for await (const some of inTurns([...files, ...links])) for (const { path } of some) add(dirname(path))
  const levels = new Map<number, string[]>()
  for await (const some of inTurns(found)) {
    for (const [depth, level] of Map.groupBy(some, (path) => path.split('/').length))
      levels.set(depth, (levels.get(depth) ?? []).concat(level))
  }
  return [...levels].sort(([a], [b]) => a - b).map(([, level]) => level)
}

/** Works on all items, `width` at once. After a failure no further item is begun; returns when the last one has ended. */
async function eachOf<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
  signal: AbortSignal | undefined,
) {
  const queue = items.values()
  const failures: unknown[] = []

  async function worker() {
    for (const item of queue) {
      if (failures.length > 0) return
      try {
        signal?.throwIfAborted()
        await work(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }

  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
  if (failures.length > 0) throw failures[0]
}
