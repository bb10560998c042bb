/** How much of a disk some folders take, and how much is left of it. */
import { execFile } from 'node:child_process'
import { readdir, stat, statfs } from 'node:fs/promises'
import { promisify } from 'node:util'

export type Space = {
  freeBytes: number
  /** Undefined where the file system has no fixed number of inodes. */
  freeFiles: number | undefined
}

export async function spaceAt(folder: string): Promise<Space> {
  const { bavail, bsize, files, ffree } = await statfs(folder)
  return { freeBytes: bavail * bsize, freeFiles: files > 0 ? ffree : undefined }
}

export type Measured = 'bytes' | 'files'

const TIMEOUT_MS = 60_000

/**
 * By du(1): it is quick, does not block the event loop, follows no link, and copes with trees that were made to be hard to
 * walk through. A tree that it cannot finish within the timeout counts as infinitely large, so that no job escapes its limit
 * by having too many files to count. Undefined when du fails.
 */
export async function sizeOf(
  folders: readonly string[],
  what: Measured,
  timeoutMs = TIMEOUT_MS,
): Promise<number | undefined> {
  if (folders.length === 0) return 0
  const options = what === 'bytes' ? ['-skx'] : ['-sx', '--inodes']
  const run = promisify(execFile)('du', [...options, '--', ...folders], {
    timeout: timeoutMs,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  })
  // It complains about files that are removed while it looks, and has counted all others.
  const { stdout, killed } = await run.then(
    (done) => ({ ...done, killed: false }),
    (error: { stdout?: string; killed?: boolean }) => ({ stdout: error.stdout ?? '', killed: error.killed }),
  )
  const sizes = [...stdout.matchAll(/^(\d+)\t/gm)].map(([, size]) => Number(size))
  if (killed) return Number.POSITIVE_INFINITY
  if (sizes.length === 0) return undefined
  return sizes.reduce((sum, size) => sum + size, 0) * (what === 'bytes' ? 1024 : 1)
}

const IN_MEMORY = [0x01021994, 0x958458f6]
const MAX_LINKS = 5000

/** A deleted file takes disk space for as long as a process has it open or mapped. */
export async function namelessBytes(pids: readonly number[]): Promise<number> {
  const sizes = new Map<string, number>()
  let left = MAX_LINKS
  // Only root may look at what is mapped.
  for (const folder of pids.flatMap((pid) => [`/proc/${pid}/fd`, `/proc/${pid}/map_files`])) {
    for (const name of await readdir(folder).catch(() => [])) {
      if (left-- <= 0) break
      const link = `${folder}/${name}`
      const found = await stat(link).catch(() => undefined)
      if (!found?.isFile() || found.nlink > 0 || found.blocks === 0) continue
      const type = (await statfs(link).catch(() => undefined))?.type
      if (type !== undefined && !IN_MEMORY.includes(type)) sizes.set(`${found.dev}:${found.ino}`, found.blocks * 512)
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}
