/** Values of apps and caches of builds with an object store: the small server of the tests, which can be stopped. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { statement } from '../../../src/storage/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { BUCKET, KEYS, type S3Server, startS3Server } from '../../support/object-store/s3-server.ts'
import { settingsFor } from '../../support/object-store/service.ts'
import { OF_SQLITE } from '../../support/postgres/databases.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { appAt, CALLER } from '../../support/service/app-calls.ts'
import { deploy, type Files, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { HEADLAND } from '../../support/service/headland.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const LARGE = 100_000
const settingsOf = (server: S3Server, prefix: string) => settingsFor({ ...server, bucket: BUCKET, ...KEYS }, prefix)
const storedIn = ({ objects }: S3Server): string[] => [...objects.keys()].filter((key) => key.includes('/values/'))

async function emptyCache({ dataDir }: TestService) {
  const cache = join(dataDir, 'object-cache')
  for (const folder of await readdir(cache)) if (folder !== 'aside') await rm(join(cache, folder), { recursive: true })
}

async function deployCaller(service: TestService) {
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  const { error } = await deploy(service, as, environment.name, CALLER)
  assert.equal(error, undefined, JSON.stringify(error))
  return { as, environment, app: await appAt(service, environment.url) }
}

/** The same app under a service that was started anew. */
async function appAgain(service: TestService, { url }: { url: string }) {
  await until(async () => (await siteAnswer(service, url)).status === 200)
  return appAt(service, url)
}

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const server = await startS3Server(file)
const settings = settingsOf(server, 'values-a')
const service = await startService(file, { settings })

test('values are in rows and in the bucket, survive the copies on the disk, and go with their environment', async (t) => {
  const { as, environment, app } = await deployCaller(service)
  assert.equal((await app.put('small', { body: '{"a":1}' })).status, 204)
  assert.equal((await app.put('large', { length: LARGE })).status, 204)
  assert.equal(storedIn(server).length, 1)
  assert.equal(existsSync(join(service.dataDir, 'environments', app.id, 'values')), false)
  await emptyCache(service)
  assert.equal((await app.get('small')).text, '{"a":1}')
  assert.equal((await app.get('large')).bytes, LARGE + 2)
  assert.equal((await app.get('other')).status, 404)
  const asked = await service.call(`/v1/${environment.name}`, { method: 'DELETE', as })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  const sql = await service.openSql()
  t.after(() => sql.close())
  for (const table of [statement`SELECT name FROM kv_values`, statement`SELECT bytes FROM kv_stores`])
    assert.deepEqual(await sql.query(table), [])
})

test('while the bucket is away small values go on, and larger ones get 503 with Retry-After or come from a copy', async () => {
  const { app } = await deployCaller(service)
  assert.equal((await app.put('small', { body: '"before"' })).status, 204)
  assert.equal((await app.put('large', { length: LARGE })).status, 204)
  await server.stop()
  assert.equal((await app.get('large')).bytes, LARGE + 2)
  await emptyCache(service)
  for (const refused of [await app.get('large'), await app.put('large', { length: LARGE + 1 })]) {
    assert.deepEqual([refused.status, refused.retryAfter], [503, '5'])
    assert.match(refused.text, /STORAGE_UNAVAILABLE/)
  }
  assert.equal((await app.put('small', { body: '"during"' })).status, 204)
  assert.equal((await app.get('small')).text, '"during"')
  await server.startAgain()
  assert.equal((await app.get('large')).bytes, LARGE + 2)
  assert.equal((await app.put('large', { length: LARGE + 1 })).status, 204)
  assert.equal((await app.get('large')).bytes, LARGE + 3)
})

/** Counts its builds in a folder that is kept between them. */
const COUNTER: Files = {
  'package.json': JSON.stringify({ name: 'counter', version: '1.0.0', scripts: { build: 'node build.js' } }),
  'build.js': `
    const fs = require('node:fs')
    const kept = 'node_modules/.cache/count'
    const count = fs.existsSync(kept) ? Number(fs.readFileSync(kept)) + 1 : 1
    fs.mkdirSync('node_modules/.cache', { recursive: true })
    fs.writeFileSync(kept, String(count))
    fs.mkdirSync('dist', { recursive: true })
    fs.writeFileSync('dist/index.html', 'built ' + count + ' times')`,
}

test('a build finds the caches of another machine, and is built without them while the store is away', async () => {
  const as = await service.login()
  const { name: environment, url } = await createEnvironment(service, as)
  const shown = async () => (await siteAnswer(service, url)).text
  const logOf = async (build: string | undefined) => (await service.call(`/v1/${build}/log`, { as })).text

  async function rebuild() {
    const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
    const done = await untilDone(service, as, asked.json.name)
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    return logOf(done.metadata.build)
  }
  async function loseCaches() {
    await rm(join(service.dataDir, 'environments', `${environment.split('/').at(-1)}`, 'cache'), { recursive: true })
  }

  const known = new Set(server.objects.keys())
  const first = await deploy(service, as, environment, COUNTER)
  assert.equal(first.error, undefined, JSON.stringify(first.error))
  assert.match(await logOf(first.metadata.build), /Copied the caches to the object store/)
  await loseCaches()
  assert.match(await rebuild(), /Fetched the caches of an earlier build from the object store/)
  assert.match(await shown(), /built 2 times/)

  await loseCaches()
  const cache = join(service.dataDir, 'object-cache')
  const copies = [...server.objects.keys()].filter((key) => !known.has(key) && key.startsWith('values-a/caches/'))
  assert.equal(copies.length, 1)
  const hex = copies[0]?.split('/').at(-1) ?? ''
  await rm(join(cache, hex.slice(0, 2), hex))
  await server.stop()
  assert.match(await rebuild(), /Warning: the caches of earlier builds could not be fetched/)
  assert.match(await shown(), /built 1 times/)
  await server.startAgain()
})

// The service of all of them ends with it.
test('a backup has the rows of values, and a restored service finds all of them', OF_SQLITE, async (t) => {
  const { app, environment } = await deployCaller(service)
  assert.equal((await app.put('small', { body: '"kept"' })).status, 204)
  assert.equal((await app.put('large', { length: LARGE })).status, 204)
  const folder = await temporaryFolder(t)
  const [copy, dataDir] = [join(folder, 'backup'), join(folder, 'restored')]
  const headland = (at: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [HEADLAND, ...args], {
      env: { PATH: process.env.PATH, HEADLAND_DATA_DIR: at, ...settings },
    })
  await headland(service.dataDir, 'backup', copy)
  await service.stop()
  await headland(dataDir, 'restore', copy, '--key-file', join(service.dataDir, 'master.key'))
  const restored = await startService(t, { dataDir, settings })
  const same = await appAgain(restored, environment)
  assert.equal((await same.get('small')).text, '"kept"')
  assert.equal((await same.get('large')).bytes, LARGE + 2)
})

test('values of before the bucket are moved to it, none is lost, and new ones go there', async (t) => {
  const dataDir = await temporaryFolder(t)
  const server = await startS3Server(t)
  const before = await startService(t, { dataDir })
  const { app, environment } = await deployCaller(before)
  const keys = Array.from({ length: 20 }, (_, number) => `key-${number}`)
  for (const [number, key] of keys.entries())
    assert.equal((await app.put(key, { length: number % 2 ? 10 : LARGE + number })).status, 204)
  const folder = join(dataDir, 'environments', app.id, 'values')
  assert.equal((await readdir(folder)).length, 20)
  await before.kill()

  const service = await startService(t, { dataDir, settings: settingsOf(server, 'values-b') })
  await until(() => !existsSync(folder), 'all values are moved')
  assert.equal(storedIn(server).length, 10)
  await emptyCache(service)
  const same = await appAgain(service, environment)
  for (const [number, key] of keys.entries())
    assert.equal((await same.get(key)).bytes, (number % 2 ? 10 : LARGE + number) + 2, key)
})

test('a new machine on the same database and bucket has the values; while the database is away calls get 503', {
  ...NEEDS_POSTGRES,
}, async (t) => {
  const [server, database] = [await startS3Server(t), await startPostgres(t)]
  const settings = { ...settingsOf(server, 'values-d'), HEADLAND_DATABASE_URL: await database.createDatabase() }
  const first = await startService(t, { settings })
  const { as, app, environment } = await deployCaller(first)
  assert.equal((await app.put('small', { body: '"kept"' })).status, 204)
  assert.equal((await app.put('large', { length: LARGE })).status, 204)
  await database.stop()
  for (const refused of [await app.get('small'), await app.put('small', { body: '1' })])
    assert.deepEqual([refused.status, refused.retryAfter], [503, '5'])
  await database.start()
  await until(async () => (await app.get('small')).text === '"kept"', 'the database is back')
  const masterKey = (await readFile(join(first.dataDir, 'master.key'), 'utf8')).trim()
  assert.equal(await first.stop(), 0)

  const second = await startService(t, { settings: { ...settings, HEADLAND_MASTER_KEY: masterKey } })
  const rebuilt = await second.call(`/v1/${environment.name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal((await untilDone(second, as, rebuilt.json.name)).error, undefined)
  const same = await appAgain(second, environment)
  assert.equal((await same.get('small')).text, '"kept"')
  assert.equal((await same.get('large')).bytes, LARGE + 2)
})
