import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { type Modules, openModules } from '../../test/support/modules/deployments.ts'
import { createRetention } from '../retention/index.ts'
import {
  createRetentionHolds,
  hasRetentionHold,
  openLineLogs,
  openVault,
  RETENTION_HOLD_MS,
  statement,
} from '../storage/index.ts'
import { openSqlite, openSqliteApart } from '../storage/sql/sqlite.ts'
import { draftOf, pack } from './pack.ts'
import { restore } from './restore/restore.ts'
import { writeBackup } from './restore/write-file.ts'

const isRoot = process.getuid?.() === 0

const partsOf = (modules: Modules) => ({ ...modules, openSql: openSqlite, version: '1.2.3' })

async function* from(pieces: readonly Buffer[]) {
  yield* pieces
}

async function drain(bytes: AsyncIterable<Buffer>): Promise<Buffer[]> {
  return Array.fromAsync(bytes)
}

async function restored(t: TestContext, pieces: readonly Buffer[]) {
  const dataDir = join(await temporaryFolder(t), 'data')
  const keys = { file: join(dataDir, 'master.key'), given: undefined }
  // These have no master key, or only the one inside.
  const parts = { dataDir, keys, openForeignSql: openSqliteApart, isTrusted: true }
  return { dataDir, ...(await restore(parts, from(pieces))) }
}

/** Everything that removes files by itself. */
async function tend(modules: Modules, environmentId: string) {
  const ballast = { bytes: 0, load: async () => undefined, throwOut: () => false }
  const { rounds } = createRetention({
    ...modules,
    tendEarlierFiles: async () => undefined,
    keepDeployments: 0,
    keepHistory: 500,
    accountBytes: 0,
    accountFiles: 0,
    diskReserve: 0,
    ballast,
  })
  rounds.lead(LEADING)
  rounds.switched(environmentId)
  rounds.start()
  await rounds.settled()
  await rounds.stop(10_000)
}

test('the log of requests is not in a backup, other logs are', async (t) => {
  const modules = await openModules(t)
  const shop = await modules.environment()
  for (const kind of ['runtime', 'requests'])
    await modules.write(join(modules.dataDir, 'logs', kind, `${shop.id}.log`), 'x')
  const pieces: Buffer[] = []
  const { bytes, packed } = pack(partsOf(modules))
  for await (const piece of bytes) pieces.push(piece)
  const { dataDir } = await restored(t, pieces)
  assert.deepEqual(await readdir(join(dataDir, 'logs')), ['runtime'])
  assert.deepEqual(packed.leftOut, [])
})

test('requests that are rows are not in a backup, other rows of logs are', async (t) => {
  const modules = await openModules(t)
  const { logs } = await openLineLogs({ ...modules, folder: '', blobs: undefined, isMoving: false, isShared: true })
  const records = await logs.openRecords('requests/e', 1e6)
  records.add({ time: 1, path: '/of-a-visitor' } as { time: number })
  await records.close()
  const log = await logs.create('builds/b', { secrets: [], whenFull: 'stop', maxBytes: 1e6 })
  log.say('', 'of a build')
  await log.close()
  const pieces: Buffer[] = []
  for await (const piece of pack(partsOf(modules)).bytes) pieces.push(piece)
  const { dataDir } = await restored(t, pieces)
  const database = await readFile(join(dataDir, 'headland.db'), 'latin1')
  assert.deepEqual([database.includes('of a build'), database.includes('of-a-visitor')], [true, false])
})

const hex = (digest: string) => digest.slice('sha256:'.length)
const blob = (digest: string) => `blobs/${hex(digest).slice(0, 2)}/${hex(digest)}`

test('what a backup reads stays until it is over, whatever is deleted and collected meanwhile', async (t) => {
  const modules = await openModules(t)
  const [shop, blog] = [await modules.environment(), await modules.environment()]
  const given = { archive: 'first', output: 'shown first', packages: 'installed' }
  const old = await modules.deploy(shop, given)
  const gone = await modules.deploy(blog, { archive: 'other', output: 'of the blog', packages: 'more' })
  await modules.write(join(modules.folders.values(blog.id), 'a'.repeat(64)), 'value')
  // An archive that was just received is kept in any case.
  for (const { archive } of [old, gone]) await utimes(join(modules.dataDir, blob(archive)), 1, 1)
  // Larger than one piece, so that the backup pauses with most of it unread.
  await modules.write(
    join(modules.dataDir, 'outputs', hex(old.output), 'files', 'large'),
    randomBytes(2 ** 21).toString('hex'),
  )

  const { bytes, packed } = pack(partsOf(modules))
  const reading = bytes[Symbol.asyncIterator]()
  const pieces = [(await reading.next()).value as Buffer]

  await modules.sql.transaction(async (tx) => {
    await modules.deployments.removeAll(tx, blog.id)
    await modules.builds.removeAll(tx, blog.id)
    await modules.environments.remove(tx, blog.id)
  })
  await modules.deploy(shop, { archive: 'second', output: 'shown second', packages: 'others' })
  await modules.clock.advance(60_000)
  await tend(modules, shop.id)
  for (let next = await reading.next(); !next.done; next = await reading.next()) pieces.push(next.value)

  assert.deepEqual(packed.missing, [])
  const { dataDir, missing } = await restored(t, pieces)
  assert.deepEqual(missing, [])
  for (const { archive, output } of [old, gone]) {
    assert.ok(await lstat(join(dataDir, blob(archive))))
    assert.ok(await lstat(join(dataDir, 'outputs', hex(output), 'files/file')))
  }
  assert.equal((await readdir(join(dataDir, 'packages'))).length, 2)
  assert.equal((await readdir(join(dataDir, 'logs/builds'))).length, 2 + 1)
  assert.equal(await readFile(join(dataDir, 'environments', blog.id, 'values', 'a'.repeat(64)), 'utf8'), 'value')

  // When the backup is over, nothing is retained, and files without references are removed.
  assert.equal(await hasRetentionHold(modules.sql, modules.clock.now()), false)
  assert.equal(await modules.outputs.has(gone.output), true)
  await tend(modules, shop.id)
  assert.equal(await modules.outputs.has(gone.output), false)
  assert.equal(await modules.outputs.has(old.output), false)
  assert.equal(await modules.blobs.has(gone.archive), false)
})

test('links, rights and the marks of layers survive, and files belong to the user of their environment', async (t) => {
  const modules = await openModules(t)
  const shop = await modules.environment()
  await modules.sql.transaction((tx) => modules.environments.assignUid(tx, shop))
  const { output } = await modules.deploy(shop, { output: 'text', packages: 'p' })
  const top = join(modules.dataDir, 'outputs', hex(output))
  const at = (path: string) => join(top, path)
  await mkdir(at('source/inner'), { recursive: true })
  await writeFile(at('files/run.sh'), 'echo', { mode: 0o755 })
  await writeFile(at('files/empty'), '')
  await link(at('files/run.sh'), at('files/same'))
  await symlink('/wherever/it likes', at('files/link'))
  await mkdir(at('files/closed'))
  await writeFile(at('files/closed/in'), 'x')
  await chmod(at('files/closed'), 0o555)
  await mkdir(at('files/hiding'))
  if (isRoot) {
    await chown(at('files/run.sh'), 1234, 5678)
    execFileSync('mknod', [at('files/gone'), 'c', '0', '0'])
    markOpaque(top, 'files/hiding')
  }
  const { dataDir } = await restored(t, await drain(pack(partsOf(modules)).bytes))
  const now = (path: string) => join(dataDir, 'outputs', hex(output), path)
  const [script, same] = [await lstat(now('files/run.sh')), await lstat(now('files/same'))]
  assert.equal(script.mode & 0o7777, 0o755)
  assert.equal(script.ino, same.ino)
  assert.equal(script.mtimeMs, Math.floor((await lstat(at('files/run.sh'))).mtimeMs / 1000) * 1000)
  assert.equal(await readlink(now('files/link')), '/wherever/it likes')
  assert.equal((await lstat(now('files/closed'))).mode & 0o7777, 0o555)
  assert.equal((await lstat(now('files/empty'))).size, 0)
  assert.equal((await lstat(join(dataDir, 'headland.db'))).mode & 0o777, 0o600)
  assert.equal((await lstat(dataDir)).mode & 0o777, 0o700)
  if (!isRoot) return
  assert.deepEqual([script.uid, script.gid], [200_001, 200_001])
  const hidden = await lstat(now('files/gone'))
  assert.ok(hidden.isCharacterDevice() && hidden.rdev === 0)
  assert.match(attributesOf(join(dataDir, 'outputs', hex(output)), 'files/hiding'), /trusted\.overlay\.opaque=y/)
})

const ATTRIBUTES = ['--xattrs', '--xattrs-include=trusted.overlay.opaque']

/** GNU tar is the only program of every Debian that can set it. */
function attributesOf(top: string, path: string): string {
  return execFileSync('tar', ['-c', '--format=pax', ...ATTRIBUTES, '-C', top, path]).toString('latin1')
}

function markOpaque(top: string, path: string) {
  const record = 'SCHILY.xattr.trusted.overlay.opaque=y'
  const options = ['--format=pax', `--pax-option=${record.replace('=', ':=')}`]
  const tar = execFileSync('tar', ['-c', ...options, '-C', top, path])
  execFileSync('tar', ['-x', ...ATTRIBUTES, '-C', top], { input: tar })
  assert.match(attributesOf(top, path), /trusted\.overlay\.opaque=y/)
}

test('a backup whose retention hold expired is refused', async (t) => {
  const modules = await openModules(t)
  await modules.deploy(await modules.environment())
  const { bytes } = pack(partsOf(modules))
  const reading = bytes[Symbol.asyncIterator]()
  await reading.next()
  // As when the machine sleeps: the hold is not renewed.
  await modules.sql.transaction((tx) => tx.query(statement`UPDATE holds SET until = ${modules.clock.now()}`))
  await assert.rejects(
    (async () => {
      while (!(await reading.next()).done);
    })(),
    /not held all the time/,
  )
  assert.deepEqual(
    (await readdir(modules.dataDir)).filter((name) => name.startsWith('backup-')),
    [],
  )
})

test('the next backup removes what a killed one left', async (t) => {
  const modules = await openModules(t)
  await modules.deploy(await modules.environment())
  const elsewhere = await temporaryFolder(t)
  const draft = draftOf(join(elsewhere, 'x.tar'), 'r'.repeat(43))
  const foreign = join(elsewhere, 'not-ours.tar')
  await writeFile(draft, 'half')
  await writeFile(foreign, 'something else')
  const holds = createRetentionHolds(modules)
  const { id } = await holds.take(draft)
  await holds.take(foreign)
  await mkdir(join(modules.dataDir, `backup-${id}`))
  await drain(pack(partsOf(modules)).bytes)
  assert.deepEqual((await readdir(elsewhere)).length, 2, 'one that may still be at work is left alone')
  await modules.clock.advance(RETENTION_HOLD_MS)
  await drain(pack(partsOf(modules)).bytes)
  assert.deepEqual(await readdir(elsewhere), ['not-ours.tar'])
  assert.deepEqual(
    (await readdir(modules.dataDir)).filter((name) => name.startsWith('backup-')),
    [],
  )
})

test('a backup that is interrupted leaves no file and no retention hold', async (t) => {
  const modules = await openModules(t)
  await modules.deploy(await modules.environment())
  const folder = await temporaryFolder(t)
  const [file, stopping] = [join(folder, 'x.tar'), new AbortController()]
  const draft = draftOf(file, 'r')
  const onProgress = () => stopping.abort(new Error('enough'))
  const { bytes } = pack(partsOf(modules), { signal: stopping.signal, onProgress, draft })
  await assert.rejects(writeBackup(bytes, file, { draft, isForced: false }), /enough/)
  assert.deepEqual(await readdir(folder), [])
  assert.equal(await hasRetentionHold(modules.sql, modules.clock.now()), false)
})

test('an output that was lost before is reported, and the rest is kept; one that is being made is not missed', async (t) => {
  const modules = await openModules(t)
  const [shop, blog] = [await modules.environment(), await modules.environment()]
  const lost = await modules.deploy(shop)
  const kept = await modules.deploy(shop)
  const making = await modules.build(blog, { output: 'soon', isOver: false })
  for (const output of [lost.output, making.output])
    await rm(join(modules.dataDir, 'outputs', hex(output)), { recursive: true })
  const { bytes, packed } = pack(partsOf(modules))
  const { dataDir, missing } = await restored(t, await drain(bytes))
  assert.deepEqual(packed.missing, [`outputs/${hex(lost.output)}`])
  assert.deepEqual(missing, packed.missing)
  assert.deepEqual(await readdir(join(dataDir, 'outputs')), [hex(kept.output)])
})

test('an archive with a byte that has changed on the disk is reported', async (t) => {
  const modules = await openModules(t)
  const { archive } = await modules.deploy(await modules.environment(), { archive: 'as it was' })
  await writeFile(join(modules.dataDir, blob(archive)), 'as it is!')
  const { bytes, packed } = pack(partsOf(modules))
  await drain(bytes)
  assert.deepEqual(packed.damaged, [blob(archive)])
})

test('caches, work folders, drafts and what runs are not in it', async (t) => {
  const modules = await openModules(t)
  const shop = await modules.environment()
  const { output } = await modules.deploy(shop)
  const own = (path: string) => join(modules.dataDir, path)
  for (const path of ['cache/x', 'toolchain/x', 'ballast', 'routes.log', 'blobs/aside/x', 'outputs/x.new/x'])
    await modules.write(own(path), 'x')
  for (const path of ['cache/x', 'run/x/own', 'work/x/y', 'values/x.new'])
    await modules.write(own(`environments/${shop.id}/${path}`), 'x')
  const { dataDir } = await restored(t, await drain(pack(partsOf(modules)).bytes))
  assert.deepEqual((await readdir(dataDir)).sort(), ['blobs', 'environments', 'headland.db', 'logs', 'outputs'])
  assert.deepEqual(await readdir(join(dataDir, 'environments', shop.id)), ['values'])
  assert.deepEqual(await readdir(join(dataDir, 'environments', shop.id, 'values')), [])
  assert.deepEqual(await readdir(join(dataDir, 'outputs')), [hex(output)])
})

test('a key that is not that of the database does not go with it', async (t) => {
  const modules = await openModules(t)
  const file = join(await temporaryFolder(t), 'master.key')
  const { keyId } = await openVault(modules.sql, { file, given: undefined })
  const text = (await readFile(file, 'utf8')).trim()
  await assert.rejects(
    drain(pack(partsOf(modules), { key: { text, keyId: 'another', from: 'file' }, isKeyInside: true }).bytes),
    /proven with master key/,
  )
  const { dataDir, head } = await restored(
    t,
    await drain(pack(partsOf(modules), { key: { text, keyId, from: 'file' }, isKeyInside: true }).bytes),
  )
  assert.equal(head.hasKey, true)
  assert.equal(await readFile(join(dataDir, 'master.key'), 'utf8'), `${text}\n`)
  assert.equal((await lstat(join(dataDir, 'master.key'))).mode & 0o777, 0o600)
})
