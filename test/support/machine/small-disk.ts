/** A disk that is soon full: a file system in memory. Only root can mount one. */
import { execFile } from 'node:child_process'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'

const run = promisify(execFile)

/** Why there can be none here; undefined where there can. */
export const noSmallDisk: string | undefined =
  process.platform === 'linux' && process.getuid?.() === 0 ? undefined : 'only root can mount a small disk'

export async function smallDisk(t: Scope, megabytes: number) {
  const folder = await temporaryFolder({ after: () => undefined })
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'headland-test', folder])
  t.after(async () => {
    // Whoever still has a file open there does not keep the test from ending.
    await run('umount', ['--lazy', folder])
    await rm(folder, { recursive: true, force: true })
  })
  const filler = join(folder, 'filler')
  return {
    folder,
    /** To the last byte. */
    async fill() {
      const file = await open(filler, 'a')
      try {
        for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
          while (await isWritten(file.write(Buffer.alloc(bytes, 1))));
        }
      } finally {
        await file.close()
      }
    },
    free: () => rm(filler, { force: true }),
  }
}

async function isWritten(writing: Promise<{ bytesWritten: number }>): Promise<boolean> {
  return writing.then(
    ({ bytesWritten }) => bytesWritten > 0,
    (error) => {
      if (error.code !== 'ENOSPC') throw error
      return false
    },
  )
}
