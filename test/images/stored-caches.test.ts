/** Copies of caches in an object store, as a build makes and fetches them. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Secret } from '../../src/base/index.ts'
import { createStoredCaches } from '../../src/builds/index.ts'
import { packFolder, unpackFolder } from '../../src/images/index.ts'
import { folderEntry, textEntry } from '../../src/images/layers/folder.ts'
import { tarOf } from '../../src/images/layers/pack.ts'
import { openS3Store } from '../../src/storage/blobs/s3/blobs-s3.ts'
import { TIMEOUTS } from '../../src/storage/blobs/s3/client.ts'
import { StorageUnavailable, statement } from '../../src/storage/index.ts'
import { handClock } from '../support/clock.ts'
import { temporaryFolder } from '../support/folder.ts'
import { BUCKET, KEYS, startS3Server } from '../support/object-store/s3-server.ts'
import { migratedSql } from '../support/sql.ts'

const NEVER = new AbortController().signal
const HOUR_MS = 60 * 60_000
const isRoot = process.getuid?.() === 0
const TENANT = { uid: 200_001, gid: 200_001 }

async function setUp(t: TestContext) {
  const server = await startS3Server(t)
  const { blobs: blobsOf, close } = await openS3Store({
    bucket: {
      ...{ endpoint: new URL(server.endpoint), bucket: BUCKET, region: server.region, isPathStyle: true },
      ...{ keyId: KEYS.keyId, secret: new Secret(KEYS.secret) },
    },
    prefix: 'caches-test',
    owner: 'tests',
    cache: { folder: await temporaryFolder(t), maxBytes: 0 },
    timeouts: { ...TIMEOUTS, writeMs: 300, readMs: 60_000, pauseMs: 2 },
  })
  t.after(close)
  const [sql, clock, blobs] = [await migratedSql(t), handClock(), blobsOf({ folder: 'caches', isForCallers: true })]
  const caches = createStoredCaches({ sql, clock, blobs, pack: packFolder, unpack: unpackFolder })
  const top = await temporaryFolder(t)
  const folder = join(top, 'cache')
  for (const path of ['store/a', 'compile/node_modules/.cache']) await mkdir(join(folder, path), { recursive: true })
  await writeFile(join(folder, 'compile.json'), '{"framework":"vite"}', { mode: 0o600 })
  await writeFile(join(folder, 'store/a/program'), '#!/bin/sh', { mode: 0o755 })
  await writeFile(join(folder, 'compile/node_modules/.cache/x'), 'compiled')
  const restored = join(top, 'restored')
  const restore = (user?: typeof TENANT) => caches.restore('env', restored, { user, signal: NEVER })
  return { server, sql, clock, blobs, caches, top, folder, restored, restore }
}

test('caches come back as they were, with their programs and links', async (t) => {
  const { caches, folder, restored, restore } = await setUp(t)
  await symlink('a/program', join(folder, 'store/link'))
  assert.ok(await caches.save('env', folder, NEVER))
  assert.ok(await restore())
  assert.equal(await readFile(join(restored, 'compile.json'), 'utf8'), '{"framework":"vite"}')
  assert.equal(await readFile(join(restored, 'compile/node_modules/.cache/x'), 'utf8'), 'compiled')
  assert.equal((await stat(join(restored, 'store/a/program'))).mode & 0o111, 0o111)
  assert.equal(await readlink(join(restored, 'store/link')), 'a/program')
})

test('what the build may write belongs to its user, and the mark of the service does not', {
  skip: isRoot ? false : 'needs root: files are given away',
}, async (t) => {
  const { caches, folder, restored, restore } = await setUp(t)
  await symlink('/etc/hostname', join(folder, 'store/link'))
  await caches.save('env', folder, NEVER)
  await restore(TENANT)
  const owners = ['store', 'store/a/program', 'store/link', 'compile', 'compile.json'].map(
    async (path) => (await lstat(join(restored, path))).uid,
  )
  assert.deepEqual(await Promise.all(owners), [TENANT.uid, TENANT.uid, TENANT.uid, TENANT.uid, 0])
})

test('a link of a tenant is kept as a link, and what it leads to is not copied', async (t) => {
  const { server, caches, folder, restored, restore, top } = await setUp(t)
  await mkdir(join(top, 'secret'))
  await writeFile(join(top, 'secret/key'), 'not for tenants')
  await symlink(join(top, 'secret'), join(folder, 'store/folder'))
  await symlink(join(top, 'secret/key'), join(folder, 'compile/file'))
  await caches.save('env', folder, NEVER)
  await restore()
  for (const path of ['store/folder', 'compile/file'])
    assert.equal((await lstat(join(restored, path))).isSymbolicLink(), true)
  const [, stored] = [...server.objects].find(([key]) => key.includes('/caches/')) ?? []
  assert.ok(stored && !gunzipSync(stored.bytes).includes('not for tenants'))
})

test('an archive that leads outside is refused, and writes nothing there', async (t) => {
  const { sql, blobs, top, restored, restore } = await setUp(t)
  for (const name of ['folder/../../evil', '/tmp/evil', 'other/evil']) {
    const pieces = await Array.fromAsync(tarOf([folderEntry('folder'), textEntry(name, 'evil')]))
    const { digest } = await blobs.put(once(gzipSync(Buffer.concat(pieces))))
    await sql.transaction(async (tx) => {
      await tx.query(statement`DELETE FROM stored_caches`)
      await tx.query(statement`
        INSERT INTO stored_caches (environment_id, digest, bytes, machine, store_time)
        VALUES ('env', ${digest}, 1, ${`${process.platform}-${process.arch}`}, 1)`)
    })
    await assert.rejects(restore(), { name: 'LayerBroken' })
    await rm(restored, { recursive: true, force: true })
  }
  assert.deepEqual((await readdir(top)).toSorted(), ['cache'])
  assert.equal(existsSync('/tmp/evil'), false)
})

test('a cache that is larger than 1 GiB is not copied', async (t) => {
  const { server, caches, folder, restore } = await setUp(t)
  await writeFile(join(folder, 'store/large'), '')
  await truncate(join(folder, 'store/large'), 1024 ** 3 + 1)
  assert.equal(await caches.save('env', folder, NEVER), undefined)
  assert.deepEqual([server.objects.size, await restore()], [0, undefined])
})

test('a copy is made once an hour, and at once where it was forgotten', async (t) => {
  const { caches, clock, folder } = await setUp(t)
  assert.equal(await caches.isDue('env'), true)
  await caches.save('env', folder, NEVER)
  assert.equal(await caches.isDue('env'), false)
  await clock.advance(HOUR_MS)
  assert.equal(await caches.isDue('env'), true)
  await caches.save('env', folder, NEVER)
  await caches.forget('env')
  assert.equal(await caches.isDue('env'), true)
})

test('caches of another kind of machine are not fetched', async (t) => {
  const { sql, caches, folder, restore } = await setUp(t)
  await caches.save('env', folder, NEVER)
  await sql.transaction((tx) => tx.query(statement`UPDATE stored_caches SET machine = 'aix-ppc64'`))
  assert.equal(await restore(), undefined)
})

test('garbage collection removes copies that were replaced, and keeps the newest', async (t) => {
  const { server, caches, blobs, folder, restore } = await setUp(t)
  await caches.save('env', folder, NEVER)
  await writeFile(join(folder, 'store/more'), 'more')
  await caches.save('env', folder, NEVER)
  for (const object of server.objects.values()) object.time -= HOUR_MS
  assert.equal(await caches.collect(async () => true), 0)
  assert.deepEqual([await caches.collect(async () => false), (await blobs.list()).length], [1, 1])
  assert.ok(await restore())
})

test('a store that is away is an error within a bounded time, and leaves no row', async (t) => {
  const { server, caches, folder, restore } = await setUp(t)
  await server.stop()
  await assert.rejects(caches.save('env', folder, NEVER), StorageUnavailable)
  assert.equal(await restore(), undefined)
})

async function* once(bytes: Uint8Array) {
  yield bytes
}
