/**
 * Reads folders that programs of tenants wrote, after these programs ended. Links are not followed, since they may lead
 * anywhere.
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Whether there is a folder at a path in `top`, with no link on the path. */
export async function isFolderIn(top: string, path: string): Promise<boolean> {
  let at = top
  for (const step of stepsOf(path)) {
    if (step === '..') return false
    at = join(at, step)
    if (!(await lookAt(at))?.isDirectory()) return false
  }
  return (await lookAt(at))?.isDirectory() === true
}

/** Whether anything exists at the path, also a link or an overlay's mark of a deleted file; with no link above it. */
export async function isAnythingIn(top: string, path: string): Promise<boolean> {
  return (await isFolderIn(top, dirname(path))) && (await lookAt(join(top, path))) !== undefined
}

/** Reads only the first name: there may be millions. */
export async function isEmpty(folder: string): Promise<boolean> {
  const entries = await opendir(folder)
  const first = await entries.read()
  await entries.close()
  return first === null
}

/**
 * Opens a file at a path in `top`, if neither it nor a folder above it is a link. The size is that of the opened file.
 * Undefined for anything but a regular file: reading a fifo would never end.
 */
export async function openFileIn(top: string, path: string): Promise<{ file: FileHandle; bytes: number } | undefined> {
  if (stepsOf(path).includes('..') || !(await isFolderIn(top, dirname(path)))) return undefined
  const file = await open(join(top, path), OPEN).catch(noFile)
  if (!file) return undefined
  const found = await file.stat()
  if (found.isFile()) return { file, bytes: found.size }
  await file.close()
  return undefined
}

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

function noFile(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ELOOP' && error.code !== 'ENXIO' && error.code !== 'ENODEV') unreadable(error)
}

/** The first bytes of such a file, as text. */
export async function headIn(top: string, path: string, bytes: number): Promise<string | undefined> {
  const found = await openFileIn(top, path)
  if (!found) return undefined
  await using file = found.file
  return readText(file, Math.min(bytes, found.bytes))
}

/** The whole text; undefined where it has more than `maxBytes`. */
export async function textIn(top: string, path: string, maxBytes: number): Promise<string | undefined> {
  const found = await openFileIn(top, path)
  if (!found) return undefined
  await using file = found.file
  return found.bytes <= maxBytes ? readText(file, found.bytes) : undefined
}

/** Reads at most `bytes`, also from a file that grows. */
async function readText(file: FileHandle, bytes: number): Promise<string> {
  const buffer = Buffer.alloc(bytes)
  let done = 0
  while (done < bytes) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return buffer.toString('utf8', 0, done)
}

const stepsOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.')

export type Size = { files: number; bytes: number }

/**
 * The size of a folder, without what cannot be read; counting ends above `max`. The folder may change meanwhile. Folders and
 * links count as files: each takes an inode.
 */
export async function sizeOf(folder: string, max: Size = NO_LIMIT): Promise<Size> {
  const size = { files: 0, bytes: 0 }

  async function walk(path: string): Promise<void> {
    const folders: string[] = []
    let others: string[] = []
    const isOver = () => size.files > max.files || size.bytes > max.bytes
    async function lookAtOthers() {
      const found = await Promise.all(others.map((name) => lookAt(join(path, name))))
      size.files += others.length
      size.bytes += found.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
      others = []
    }
    // In batches: a folder may have millions of names.
    for await (const entry of await opendir(path, { bufferSize: AT_A_TIME }).catch(unreadable)) {
      if (entry.isDirectory()) {
        size.files += 1
        folders.push(entry.name)
      } else if (others.push(entry.name) >= AT_A_TIME) await lookAtOthers()
      if (isOver()) return
    }
    await lookAtOthers()
    for (const name of folders) {
      if (isOver()) return
      await walk(join(path, name))
    }
  }

  await walk(folder)
  return size
}

const AT_A_TIME = 256
const NO_LIMIT = { files: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

function unreadable(error: NodeJS.ErrnoException): [] {
  if (!['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(error.code ?? '')) throw error
  return []
}

async function lookAt(path: string) {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    unreadable(error)
    return undefined
  })
}
