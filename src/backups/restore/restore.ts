/**
 * The steps of a restore: read the first entry and check the key, unpack into a folder of its own inside the data folder,
 * compare everything with the list, examine the database, and only then move it all into place. The database comes last and in
 * one step, since no service starts without it.
 */
import { execFile } from 'node:child_process'
import { link, mkdir, mkdtemp, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { absent, removeTree } from '../../base/index.ts'
import { RESTORING } from '../../storage/index.ts'
import type { OpenForeignSql } from '../database.ts'
import { BackupRefused, broken, type Head } from '../entry.ts'
import { startProof } from '../proof.ts'
import { bytesOf } from '../tar.ts'
import { DATABASE, KEY, plain, readHead, type Verified, type VerifyOptions, verify } from '../verify.ts'
import { checkKey, type FoundKey, findKey, type KeySources } from './keys.ts'
import { giveToOwners } from './owners.ts'
import { syncFolder } from './write-file.ts'

export type RestoreParts = {
  dataDir: string
  keys: KeySources
  openForeignSql: OpenForeignSql
  /** Whether a backup without proof of its origin is accepted. */
  isTrusted?: boolean
}

export async function restore(
  { dataDir, keys, openForeignSql, isTrusted = false }: RestoreParts,
  source: AsyncIterable<Uint8Array>,
  options: VerifyOptions = {},
): Promise<Verified> {
  await refuseUsed(dataDir)
  const bytes = bytesOf(await plain(source))
  const first = await readHead(bytes)
  const key = await findKey(keys)
  checkKey(key, first.head)
  const proof = startProof(first.head, key)

  const isNew = (await mkdir(dataDir, { recursive: true, mode: 0o700 })) !== undefined
  const folder = join(dataDir, RESTORING)
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    throw error.code === 'EEXIST' ? atWork(dataDir) : error
  })
  try {
    const given = { bytes, first, folder, openForeignSql, proof, isTrusted, isWanted: () => true }
    const { verified, owners } = await verify(given, options)
    await putKey(folder, key, first.head)
    await giveToOwners(folder, dataDir, owners)
    // Everything is synced to the disk, since the next steps rely on it.
    await promisify(execFile)('sync', ['--file-system', folder], { env: { PATH: '/usr/bin:/bin' } })
    await moveIntoPlace(folder, dataDir)
    return verified
  } catch (error) {
    await removeTree(folder)
    if (isNew) await rmdir(dataDir).catch(() => undefined)
    throw error
  }
}

/** All checks, without writing. */
export async function checkBackup(
  { keys, openForeignSql, isTrusted = false }: Omit<RestoreParts, 'dataDir'>,
  source: AsyncIterable<Uint8Array>,
  options: VerifyOptions = {},
): Promise<Verified> {
  const bytes = bytesOf(await plain(source))
  const first = await readHead(bytes)
  const key = await findKey(keys)
  if (keys.named !== undefined) checkKey(key, first.head)
  const proof = startProof(first.head, key)
  const folder = await mkdtemp(join(tmpdir(), 'headland-check-'))
  try {
    const given = {
      bytes,
      first,
      folder,
      openForeignSql,
      proof,
      isTrusted,
      isWanted: (path: string) => path === DATABASE,
    }
    return (await verify(given, options)).verified
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function refuseUsed(dataDir: string) {
  const names = (await readdir(dataDir).catch(absent)) ?? []
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

/**
 * A key from a file is copied into the folder; one from the setting, or already there, stays where it is. The key
 * inside the backup is used only if there is no other, and must be the one that the backup names.
 */
async function putKey(folder: string, key: FoundKey | undefined, { keyId, hasKey }: Head) {
  const inside = join(folder, KEY)
  if (!key) {
    const own = hasKey ? await findKey({ file: inside, given: undefined }) : undefined
    if (own?.keyId !== (hasKey ? keyId : undefined)) throw broken('its key is not the one that it names')
    return
  }
  await rm(inside, { force: true })
  if (keyId !== null && key.from === 'named') await writeFile(inside, `${key.text}\n`, { flag: 'wx', mode: 0o600 })
}

async function moveIntoPlace(folder: string, dataDir: string) {
  await refuseOthers(dataDir)
  const names = (await readdir(folder)).filter((name) => name !== DATABASE)
  const moved: string[] = []
  try {
    for (const name of names) {
      await rename(join(folder, name), join(dataDir, name))
      moved.push(name)
    }
    await syncFolder(dataDir)
    // Unlike a rename, a link never replaces a file, not even one that was made at the same moment.
    await link(join(folder, DATABASE), join(dataDir, DATABASE)).catch((error) => {
      throw error.code === 'EEXIST' ? othersIn(dataDir, [DATABASE]) : error
    })
  } catch (error) {
    for (const name of moved) await rename(join(dataDir, name), join(folder, name))
    throw error
  }
  await rm(join(folder, DATABASE))
  await rmdir(folder)
  await syncFolder(dataDir)
}

/** A service that was started meanwhile has made its own database. */
async function refuseOthers(dataDir: string) {
  const names = (await readdir(dataDir)).filter((name) => name !== KEY && name !== RESTORING)
  if (names.length > 0) throw othersIn(dataDir, names)
}

const othersIn = (dataDir: string, names: readonly string[]): BackupRefused =>
  new BackupRefused(`Something else was put into ${dataDir} meanwhile (${names.join(', ')}). Nothing was restored.`)
