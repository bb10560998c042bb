/**
 * One value as a file: a line with its length and checksum, and then the value. It is written aside and renamed, so a process
 * that dies leaves the old value or the new one. It is not waited for until it is on the disk, as thousands of values a minute
 * would hold up everybody who writes there: what a power cut leaves half written, its checksum tells from a value.
 */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

const headOf = (value: Uint8Array): string => `value 1 ${hex(crc32(value))} ${hex(value.byteLength)}\n`
const hex = (number: number): string => number.toString(16).padStart(8, '0')

const HEAD_BYTES = headOf(new Uint8Array()).length

/** What the disk holds in whole blocks. */
const BLOCK_BYTES = 4096
export const bytesOnDisk = (fileBytes: number): number => Math.ceil(fileBytes / BLOCK_BYTES) * BLOCK_BYTES
export const bytesOfFile = (value: Uint8Array): number => HEAD_BYTES + value.byteLength

/** The time is that of its last use. */
export async function writeValue(path: string, draft: string, value: Uint8Array, time: Date) {
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      // To the end, or it throws; `writev` may write a part where the disk is nearly full.
      await file.writeFile(headOf(value))
      await file.writeFile(value)
      await file.utimes(time, time)
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Nothing where there is no file, or not all of it. */
export async function readValue(path: string): Promise<Buffer | undefined> {
  const content = await readFile(path).catch(absent)
  if (!content) return undefined
  const value = content.subarray(HEAD_BYTES)
  return content.toString('latin1', 0, HEAD_BYTES) === headOf(value) ? value : undefined
}

export function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
