/** The file of one log as a place for its lines, with a second file for the older part of a log that was full. */
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { LinePlace } from './line-writer.ts'

type Parts = {
  path: string
  /** The file for the older part when the log is full. */
  olderPath: string
  whenFull: 'stop' | 'rotate'
  maxBytes: number
  /** The bytes in the file, and whether it ends in the middle of a line, because of a dying process or a full disk. */
  bytes: number
  isTorn: boolean
  /** The time of the first line in the file; undefined if there is none. */
  firstTime: number | undefined
}

export function createFilePlace(parts: Parts): LinePlace {
  const { path, olderPath, whenFull, maxBytes } = parts
  let { bytes, isTorn, firstTime } = parts
  let file: FileHandle | undefined

  async function openFile(): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return open(path, 'a', 0o600)
  }

  async function rotate(full: FileHandle): Promise<FileHandle> {
    await moveAway(full)
    return openFile()
  }

  async function moveAway(full: FileHandle | undefined) {
    file = undefined
    await full?.close()
    await rename(path, olderPath)
    bytes = 0
    isTorn = false
    firstTime = undefined
  }

  return {
    bytes: () => bytes,
    turn: async () => undefined,
    hurry: () => undefined,
    maxCharacters: Number.POSITIVE_INFINITY,

    async append(lines, { firstTime: time, lastNumber }) {
      file ??= await openFile()
      if (whenFull === 'rotate' && bytes > 0 && bytes + lines.length > maxBytes / 2) file = await rotate(file)
      const whole = isTorn ? `\n${lines}` : lines
      try {
        await file.appendFile(whole)
      } catch (error) {
        // A part may have been written: all of it will be written again, and must not be there twice.
        isTorn = await file.truncate(bytes).then(
          () => isTorn,
          () => true,
        )
        throw error
      }
      isTorn = false
      bytes += Buffer.byteLength(whole)
      firstTime ??= time
      return lastNumber
    },

    async rotateBefore(time) {
      if (firstTime !== undefined && firstTime < time) await moveAway(file)
    },

    async close() {
      await file?.close()
    },
  }
}
