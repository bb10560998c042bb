/**
 * Small files that are read as a whole, and files that are written as a whole. A repository of another person can have a link,
 * a pipe or a device in the place of any of them.
 */
import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'

export type SmallFile = { content: Buffer; facts: Stats }

type ReadOptions = { maxBytes: number; followsLinks?: boolean }

/** Undefined where there is none, or a folder. What is no plain file, or is too large, is refused before anything of it is read. */
export async function readSmallFile(
  file: string,
  { maxBytes, followsLinks = false }: ReadOptions,
): Promise<SmallFile | undefined> {
  const handle = await openNow(file, followsLinks)
  if (!handle) return undefined
  try {
    const facts = await handle.stat()
    if (facts.isDirectory()) return undefined
    if (!facts.isFile()) throw new NotPlain(`${file} is not a file`)
    if (facts.size > maxBytes) throw new NotPlain(`${file} has more than ${maxBytes} bytes`)
    // It may grow meanwhile, and some files, as in /proc, report no size: so the read itself is limited, too.
    const content = await buffer(handle.createReadStream({ start: 0, end: maxBytes, autoClose: false }))
    if (content.length > maxBytes) throw new NotPlain(`${file} has more than ${maxBytes} bytes`)
    return { content, facts }
  } finally {
    await handle.close()
  }
}

/** Reads pieces of a plain file that may be large; undefined where there is none. Links are not followed. */
export async function withPlainFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T | undefined> {
  const handle = await openNow(file, false)
  if (!handle) return undefined
  try {
    if (!(await handle.stat()).isFile()) throw new NotPlain(`${file} is not a file`)
    return await use(handle)
  } finally {
    await handle.close()
  }
}

function openNow(file: string, followsLinks: boolean): Promise<FileHandle | undefined> {
  // Without O_NONBLOCK, opening a pipe waits for a process that writes into it.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (followsLinks ? 0 : (constants.O_NOFOLLOW ?? 0))
  return open(file, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    if (error.code === 'ELOOP') throw new NotPlain(`${file} is a link: put the file itself in its place`)
    throw error
  })
}

/** There is something else than a plain file of that size. */
export class NotPlain extends Error {}

/**
 * Replaces a file with a text, as a whole or not at all. The text is first written to a new file with a random name that must
 * not exist yet, so that it is never written through a link; a link in the place of the file itself is replaced.
 */
export async function replaceFile(file: string, text: string, mode: number) {
  const fresh = `${file}.${randomUUID()}`
  // `wx` is O_CREAT and O_EXCL, with which the last step of a path is not followed if it is a link.
  await writeFile(fresh, text, { mode, flag: 'wx' })
  try {
    await rename(fresh, file)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}
