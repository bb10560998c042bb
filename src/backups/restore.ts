/**
 * The story of a restore: see what it is and whether the key fits, unpack into a folder of its own inside the data folder,
 * compare everything with the list, examine the database, and only then move it all into place. The database comes last and in
 * one step: without it there is no service.
 */
import { execFile } from 'node:child_process'
import { chown, mkdir, mkdtemp, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { removeTree } from '../base/index.ts'
import type { OpenSql } from './database.ts'
import { BackupRefused, type Head } from './entry.ts'
import { checkKey, type FoundKey, findKey, type KeySources } from './keys.ts'
import { bytesOf } from './tar-read.ts'
import { DATABASE, KEY, plain, readHead, type Verified, type VerifyOptions, verify } from './verify.ts'
import { syncFolder } from './write-file.ts'

export type RestoreParts = { dataDir: string; keys: KeySources; openSql: OpenSql }

const RESTORING = 'restoring'

export async function restore(
  { dataDir, keys, openSql }: RestoreParts,
  source: AsyncIterable<Uint8Array>,
  options: VerifyOptions = {},
): Promise<Verified> {
  await refuseUsed(dataDir)
  const bytes = bytesOf(await plain(source))
  const first = await readHead(bytes)
  const key = await findKey(keys)
  checkKey(key, first.head)

  const isNew = (await mkdir(dataDir, { recursive: true, mode: 0o700 })) !== undefined
  const folder = join(dataDir, RESTORING)
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    throw error.code === 'EEXIST' ? atWork(dataDir) : error
  })
  try {
    const verified = await verify({ bytes, first, folder, openSql, isWanted: () => true }, options)
    await putKey(folder, key, first.head)
    if (isNew) await giveToOwner(dataDir, join(folder, DATABASE))
    // To the disk, all of it: what comes after relies on it.
    await promisify(execFile)('sync', ['--file-system', folder], { env: { PATH: '/usr/bin:/bin' } })
    await moveIntoPlace(folder, dataDir)
    return verified
  } catch (error) {
    await removeTree(folder)
    if (isNew) await rmdir(dataDir).catch(() => undefined)
    throw error
  }
}

/** Everything but the writing. Of a key, whether it is the right one, if there is any. */
export async function checkBackup(
  { keys, openSql }: Pick<RestoreParts, 'keys' | 'openSql'>,
  source: AsyncIterable<Uint8Array>,
  options: VerifyOptions = {},
): Promise<Verified> {
  const bytes = bytesOf(await plain(source))
  const first = await readHead(bytes)
  if (keys.named !== undefined) checkKey(await findKey(keys), first.head)
  const folder = await mkdtemp(join(tmpdir(), 'headland-check-'))
  try {
    return await verify({ bytes, first, folder, openSql, isWanted: (path) => path === DATABASE }, options)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function refuseUsed(dataDir: string) {
  const names = await readdir(dataDir).catch((error) => {
    if (error.code !== 'ENOENT') throw error
    return [] as string[]
  })
  if (names.includes(RESTORING)) throw atWork(dataDir)
  if (names.some((name) => name !== KEY))
    throw new BackupRefused(
      `${dataDir} is not empty. Stop the service that uses it and move the folder away, then restore again.`,
    )
}

const atWork = (dataDir: string): BackupRefused =>
  new BackupRefused(
    `Another restore into ${dataDir} is at work, or was killed. If it was, remove ${join(dataDir, RESTORING)} and try again.`,
  )

/** A key that came by a file goes into the folder; one that is a setting stays one. */
async function putKey(folder: string, key: FoundKey | undefined, { keyId }: Head) {
  if (keyId === null || key?.from !== 'named') return
  await rm(join(folder, KEY), { force: true })
  await writeFile(join(folder, KEY), `${key.text}\n`, { flag: 'wx', mode: 0o600 })
  await giveToOwner(join(folder, KEY), join(folder, DATABASE))
}

/** The service may be another user than the operator who restores. */
async function giveToOwner(path: string, database: string) {
  const { uid, gid } = await stat(database)
  await chown(path, uid, gid)
}

async function moveIntoPlace(folder: string, dataDir: string) {
  await refuseOthers(dataDir)
  const names = (await readdir(folder)).filter((name) => name !== DATABASE)
  const moved: string[] = []
  try {
    for (const name of [...names, DATABASE]) {
      if (name === DATABASE) await syncFolder(dataDir)
      await rename(join(folder, name), join(dataDir, name))
      moved.push(name)
    }
  } catch (error) {
    for (const name of moved) await rename(join(dataDir, name), join(folder, name))
    throw error
  }
  await rmdir(folder)
  await syncFolder(dataDir)
}

/** A service that was started meanwhile has made a database of its own. */
async function refuseOthers(dataDir: string) {
  const names = (await readdir(dataDir)).filter((name) => name !== KEY && name !== RESTORING)
  if (names.length > 0)
    throw new BackupRefused(
      `Something else was put into ${dataDir} meanwhile (${names.join(', ')}). Nothing was restored.`,
    )
}
