/** A small disk that a test can fill: a file system in memory. Only root can mount one. */
import { execFile } from 'node:child_process'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'

const run = promisify(execFile)

/** Why it is not available here; undefined where it is. */
export const noSmallDisk: string | undefined =
  process.platform === 'linux' && process.getuid?.() === 0 ? undefined : 'only root can mount a small disk'

export async function smallDisk(t: Scope, megabytes: number) {
  const folder = await temporaryFolder({ after: () => undefined })
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'headland-test', folder])
  t.after(async () => {
    // Lazily, so that a process with an open file there does not keep the test from ending.
    await run('umount', ['--lazy', folder])
    await rm(folder, { recursive: true, force: true })
  })
  const filler = join(folder, 'filler')
  return {
    folder,
    /** Fills it to the last byte. */
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
