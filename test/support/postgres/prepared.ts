/**
 * Clusters that were prepared once, for all test files: a copy takes a tenth of the CPU time of `initdb`, and less than the
 * migrations of a database.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const CACHE = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'test-databases')

type Owner = { uid: number; gid: number } | undefined

/** Puts a prepared one into an empty folder. False where it was not kept yet. */
export async function putPreparedCluster(folder: string, name: string): Promise<boolean> {
  if (!existsSync(join(CACHE, name))) return false
  await copy(join(CACHE, name), folder)
  return true
}

/** Keeps a cluster that no server uses. */
export async function keepCluster(folder: string, name: string, user: Owner) {
  const prepared = join(CACHE, name)
  await mkdir(CACHE, { recursive: true })
  const draft = await mkdtemp(`${prepared}-`)
  if (user) await chown(draft, user.uid, user.gid)
  await copy(folder, draft)
  // Another test file may have prepared it meanwhile.
  await rename(draft, prepared).catch(async (error) => {
    await rm(draft, { recursive: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
}

/** Keeps owners and modes, which PostgreSQL checks. */
const copy = (from: string, to: string) => promisify(execFile)('cp', ['-aT', '--reflink=auto', from, to])
