/**
 * A buffered reader for a file that is read in small pieces, mostly in order: 50,000 headers do not cost 50,000 reads.
 */
import type { FileHandle } from 'node:fs/promises'

const WINDOW_BYTES = 128 * 1024

export type Window = {
  readonly size: number
  /** These bytes, valid until the next call; undefined if the file does not have all of them. */
  read(position: number, length: number): Promise<Buffer | undefined>
}

export async function openWindow(file: FileHandle): Promise<Window> {
  const { size } = await file.stat()
  const buffer = Buffer.allocUnsafe(WINDOW_BYTES)
  let start = 0
  let end = 0

  return {
    size,
    async read(position, length) {
      if (!Number.isSafeInteger(position) || position < 0 || position + length > size) return undefined
      if (length > WINDOW_BYTES) return await readFully(file, Buffer.allocUnsafe(length), position)
      if (position < start || position + length > end) {
        const filled = await readFully(file, buffer.subarray(0, Math.min(WINDOW_BYTES, size - position)), position)
        if (!filled) return undefined
        start = position
        end = position + filled.length
      }
      return buffer.subarray(position - start, position - start + length)
    },
  }
}

/** Fills the buffer from that position on; undefined if the file ends before. */
export async function readFully(file: FileHandle, buffer: Buffer, position: number): Promise<Buffer | undefined> {
  let done = 0
  while (done < buffer.length) {
    const { bytesRead } = await file.read(buffer, done, buffer.length - done, position + done)
    if (bytesRead === 0) return undefined
    done += bytesRead
  }
  return buffer
}
