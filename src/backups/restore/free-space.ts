/**
 * Limits what a restore may write. Decompressed data may be a million times larger than its file, and its sizes are
 * only proven at its end: so space is checked before each entry is written, and the disk is never filled.
 */
import { statfsSync } from 'node:fs'
import { BackupRefused } from '../entry.ts'

/** Free space that is left for other programs. */
export const RESERVE_BYTES = 256 * 1024 * 1024
const RESERVE_FILES = 10_000
const BLOCK = 4096

export type Free = { bytes: number; files: number }

export function createFreeSpace(folder: string, look: (folder: string) => Free = freeIn) {
  let left: Free = { bytes: 0, files: 0 }
  return {
    /** Throws unless there is space for one more entry, and some to spare. */
    take(bytes: number) {
      const needed = (Math.ceil(bytes / BLOCK) + 1) * BLOCK
      if (left.bytes < needed || left.files < 1) {
        const { bytes: free, files } = look(folder)
        left = { bytes: free - RESERVE_BYTES, files: files - RESERVE_FILES }
      }
      left.bytes -= needed
      left.files -= 1
      if (left.bytes < 0 || left.files < 0)
        throw new BackupRefused(
          `There is not enough space in ${folder}: the backup goes on with a file of ${bytes} bytes. Free some space, or restore to another disk.`,
        )
    },
  }
}

export type FreeSpace = ReturnType<typeof createFreeSpace>

/** Some file systems do not limit the number of files. */
function freeIn(folder: string): Free {
  const { bavail, bsize, files, ffree } = statfsSync(folder)
  return { bytes: bavail * bsize, files: files === 0 ? Number.MAX_SAFE_INTEGER : ffree }
}
