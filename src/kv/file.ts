/**
 * One value as a file: a line with its length and checksum, and then the value. It is written under another name and renamed,
 * so a process that dies leaves the old value or the new one. There is no fsync, as thousands of values a minute would slow
 * down every other writer: the checksum reveals a value that a power cut left half written.
 */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { absent } from '../base/index.ts'

const headOf = (value: Uint8Array): string => `value 1 ${hex(crc32(value))} ${hex(value.byteLength)}\n`
const hex = (number: number): string => number.toString(16).padStart(8, '0')

const HEAD_BYTES = headOf(new Uint8Array()).length

/** What the names of files end with that are being written. */
export const DRAFT = '.new'

/** Files take whole blocks of the disk. */
export const BLOCK_BYTES = 4096
export const bytesOnDisk = (fileBytes: number): number => Math.ceil(fileBytes / BLOCK_BYTES) * BLOCK_BYTES
export const bytesOfFile = (value: Uint8Array): number => HEAD_BYTES + value.byteLength

/** `time` is the time of the last use. */
export async function writeValue(path: string, draft: string, value: Uint8Array, time: Date) {
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      // `writeFile` writes everything or throws; `writev` may write a part if the disk is nearly full.
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

/** Undefined if there is no file, or only a part of it. */
export async function readValue(path: string): Promise<Buffer | undefined> {
  const content = await readFile(path).catch(absent)
  if (!content) return undefined
  const value = content.subarray(HEAD_BYTES)
  return content.toString('latin1', 0, HEAD_BYTES) === headOf(value) ? value : undefined
}
