/** A real backup, taken apart and packed again as an attacker would. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atEnd, type BackupEntry, type Head, LIST, lineOf, TAG } from '../../../src/backups/entry.ts'
import { pack } from '../../../src/backups/pack.ts'
import { startTag, writtenTag } from '../../../src/backups/proof.ts'
import { findKey } from '../../../src/backups/restore/keys.ts'
import { checkBackup, restore } from '../../../src/backups/restore/restore.ts'
import { bytesOf, entryOf, headerOf, nextHeader, skipPadding } from '../../../src/backups/tar.ts'
import { openVault, type Sql } from '../../../src/storage/index.ts'
import { openSqlite, openSqliteApart } from '../../../src/storage/sql/sqlite.ts'
import { END, padding } from '../../../src/tar/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { openModules } from './deployments.ts'

export type Whole = { entry: BackupEntry; body: Buffer }

export type Backup = { tar: Buffer; entries: Whole[]; key: string; keyFile: string }

/** Of a service with one app. The key is not part of the backup, unless the test asks for that. */
export async function makeBackup(scope: Scope, { isKeyInside = false } = {}): Promise<Backup> {
  const modules = await openModules(scope)
  const keyFile = join(await temporaryFolder(scope), 'master.key')
  await openVault(modules.sql, { file: keyFile, given: undefined })
  const shop = await modules.environment()
  await modules.sql.transaction((tx) => modules.environments.assignUid(tx, shop))
  await modules.deploy(shop, { archive: 'zip', output: 'shown', packages: 'installed' })
  const key = await findKey({ file: keyFile, given: undefined })
  const { bytes } = pack({ ...modules, openSql: openSqlite, version: '1.2.3' }, { key, isKeyInside })
  const tar = Buffer.concat(await Array.fromAsync(bytes))
  return { tar, entries: await entriesOf(tar), key: (await readFile(keyFile, 'utf8')).trim(), keyFile }
}

async function entriesOf(tar: Buffer): Promise<Whole[]> {
  const bytes = bytesOf(pieces(tar))
  const found: Whole[] = []
  for (let raw = await nextHeader(bytes); raw; raw = await nextHeader(bytes)) {
    const entry = entryOf(raw)
    found.push({ entry, body: Buffer.from(await bytes.take(entry.size)) })
    await skipPadding(bytes, entry.size)
  }
  return found
}

export async function* pieces(tar: Buffer) {
  for (let at = 0; at < tar.byteLength; at += 65_536) yield tar.subarray(at, at + 65_536)
}

export const nothing = Buffer.alloc(0)
export const plain = (path: string): BackupEntry => ({
  path,
  kind: 'file',
  mode: 0o600,
  uid: 0,
  gid: 0,
  time: 1,
  size: 0,
})

/** With a correct list of files. Its tag is made with this key. */
export function packed(entries: readonly Whole[], key: string): Buffer {
  const without = entries.filter(({ entry }) => entry.path !== LIST && entry.path !== TAG)
  const digest = ({ entry, body }: Whole) =>
    entry.kind === 'file' ? createHash('sha256').update(body).digest('hex') : undefined
  const body = Buffer.from(without.map((one) => lineOf(one.entry, digest(one))).join(''))
  const head: Head = JSON.parse(String(entries[0]?.body))
  const list = { entry: atEnd(LIST, body.byteLength, head), body }
  const proof = Buffer.from(writtenTag(startTag({ text: key }).update(body)))
  const tag = { entry: atEnd(TAG, proof.byteLength, head), body: proof }
  return joined([...without, list, tag])
}

/** Packs the entries unchanged. */
export const joined = (entries: readonly Whole[]): Buffer =>
  Buffer.concat([...entries.flatMap((one) => [headerOf(one.entry), one.body, padding(one.entry.size)]), END])

/** Replaces the bytes of one entry. */
export const replaced = (entries: readonly Whole[], path: string, body: Buffer): Whole[] =>
  entries.map((one) => (one.entry.path === path ? { entry: { ...one.entry, size: body.byteLength }, body } : one))

/** The same backup with an altered database. */
export async function withDatabase(
  t: TestContext,
  { entries }: Backup,
  change: (file: string) => Promise<unknown>,
): Promise<Whole[]> {
  const file = join(await temporaryFolder(t), 'altered.db')
  const database = entries.find(({ entry }) => entry.path === 'headland.db')
  await writeFile(file, database?.body ?? nothing)
  await change(file)
  return replaced(entries, 'headland.db', await readFile(file))
}

/** Changes rows of the database. */
export const withRows = (t: TestContext, backup: Backup, work: (sql: Sql) => Promise<unknown>): Promise<Whole[]> =>
  withDatabase(t, backup, async (file) => {
    const sql = await openSqlite(file)
    await work(sql)
    await sql.close()
  })

type Given = { key?: string | undefined; isTrusted?: boolean; signal?: AbortSignal }

/** A restore to be awaited, and its target folder. */
export async function attempt(t: TestContext, tar: Buffer, { key, isTrusted = false, signal }: Given) {
  const top = await temporaryFolder(t)
  const dataDir = join(top, 'data')
  const keys = { file: join(dataDir, 'master.key'), given: key }
  const parts = { dataDir, keys, openForeignSql: openSqliteApart, isTrusted }
  return { top, dataDir, done: restore(parts, pieces(tar), signal ? { signal } : {}) }
}

/** Both a restore and a check refuse it with this message, and leave nothing behind. */
export async function assertRefused(t: TestContext, tar: Buffer, why: RegExp, given: Given) {
  await assertNotRestored(t, tar, why, given)
  const { key, isTrusted = false } = given
  const parts = { keys: { file: '', given: key }, openForeignSql: openSqliteApart, isTrusted }
  await assert.rejects(checkBackup(parts, pieces(tar)), why)
}

/** A restore refuses it with this message, and leaves nothing behind. */
export async function assertNotRestored(t: TestContext, tar: Buffer, why: RegExp, given: Given) {
  const { top, done } = await attempt(t, tar, given)
  await assert.rejects(done, (error: Error) => {
    assert.equal(error.name, 'BackupRefused', error.stack)
    assert.match(error.message, why)
    return true
  })
  assert.deepEqual(await readdir(top), [])
}
