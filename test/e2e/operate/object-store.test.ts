/** A service whose archives are in an object store: the small server of the tests, which can be told to fail. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { outageSuite } from '../../suites/object-store-outage.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { BUCKET, KEYS, type S3Server, startS3Server } from '../../support/object-store/s3-server.ts'
import { nameOf, settingsFor, startServiceOn } from '../../support/object-store/service.ts'
import { databaseSettings } from '../../support/postgres/databases.ts'
import { deploy, page, reasonOf, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { zipOf } from '../../support/zip.ts'

const storeOn = (server: S3Server) => ({ ...server, bucket: BUCKET, ...KEYS })
let running: S3Server | undefined

outageSuite('an object store', {
  async store(t) {
    running = await startS3Server(t)
    return storeOn(running)
  },
  namesIn: async () => [...(running?.objects.keys() ?? [])],
})

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

/** For all tests that need no other settings. */
const server = await startS3Server(file)
const settings = { ...settingsFor(storeOn(server), 'one'), HEADLAND_RETRY_INTERVAL: '1' }
const service = await startService(file, { settings })
const as = await service.login()

/** The machine has no copy of an archive any more. */
const forget = (zip: Buffer) =>
  rm(join(service.dataDir, 'object-cache', nameOf(zip).split('/')[1] ?? ''), { recursive: true })

test('an archive is in the bucket and not on the disk, and a build reads it back', async () => {
  const { name: environment } = await createEnvironment(service, as)
  const zip = zipOf(page('first'))
  assert.equal((await deploy(service, as, environment, zip)).error, undefined)
  assert.ok(server.objects.has(`one/${nameOf(zip)}`))
  assert.ok(!(await readdir(service.dataDir)).includes('blobs'))
})

test('archives of before are built from where they are, and are moved to the bucket', async (t) => {
  const server = await startS3Server(t)
  const store = storeOn(server)
  const dataDir = await temporaryFolder(t)
  const before = await startService(t, { dataDir })
  const as = await before.login()
  const { name: environment } = await createEnvironment(before, as)
  const zip = zipOf(page('of before'))
  assert.equal((await deploy(before, as, environment, zip)).error, undefined)
  await before.stop()
  const service = await startServiceOn(t, { store, prefix: 'moved', dataDir })
  const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  await until(() => server.objects.has(`moved/${nameOf(zip)}`), 'the archive is in the bucket')
  await until(
    async () =>
      !(await readdir(join(dataDir, 'blobs'), { recursive: true })).some((name) => /[0-9a-f]{64}$/.test(name)),
    'the archive is not on the disk any more',
  )
})

test('a build whose archive is damaged in the store fails, and does not build other bytes', async () => {
  const { name: environment } = await createEnvironment(service, as)
  const zip = zipOf(page('not damaged yet'))
  assert.equal((await deploy(service, as, environment, zip)).error, undefined)
  const stored = server.objects.get(`one/${nameOf(zip)}`)
  assert.ok(stored)
  stored.bytes = zipOf(page('forged'))
  await forget(zip)
  const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(reasonOf(await untilDone(service, as, asked.json.name)), 'STORAGE_UNAVAILABLE')
  assert.match(service.log(), /has other bytes under blobs\//)
  // Else it would be built again and again.
  stored.bytes = zip
})

test('a rebuild whose archive could not be got is built again by the service itself', async () => {
  const { name: environment } = await createEnvironment(service, as)
  const zip = zipOf(page('built again'))
  assert.equal((await deploy(service, as, environment, zip)).error, undefined)
  const key = `one/${nameOf(zip)}`
  await forget(zip)
  // A pause that is longer than a build waits ends the attempt at once.
  let isAway = true
  const isMeant = (request: { method: string; key: string }) =>
    isAway && request.method === 'GET' && request.key === key
  server.fail({ kind: 'status', status: 503, code: 'SlowDown', retryAfter: 3600 }, isMeant, Number.POSITIVE_INFINITY)
  const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(reasonOf(await untilDone(service, as, asked.json.name)), 'STORAGE_UNAVAILABLE')
  isAway = false
  const builds = await until(async () => {
    const { json } = await service.call(`/v1/${environment}/builds`, { as })
    return json.builds.length > 2 && json.builds[0].state === 'SUCCEEDED' ? json.builds : undefined
  }, 'the service has built it again')
  assert.equal(builds[1].state, 'FAILED')
  const { text } = await service.call(`/v1/${builds[1].name}/log`, { as })
  assert.match(text, /The service builds it again by itself in a while/)
})

const HEADLAND = join(import.meta.dirname, '../../../bin/headland.js')

test('doctor writes, reads and deletes, tells the latency, and never the secret', async (t) => {
  const server = await startS3Server(t)
  const env = { PATH: process.env.PATH, HEADLAND_DATA_DIR: await temporaryFolder(t) }
  const run = (more: Record<string, string>) =>
    promisify(execFile)(process.execPath, [HEADLAND, 'doctor', '--json'], {
      env: { ...env, ...settingsFor(storeOn(server), 'x'), ...more },
    }).catch((error) => error)
  const finding = ({ stdout }: { stdout: string }) =>
    JSON.parse(stdout).find(({ part }: { part: string }) => part === 'object store')
  const good = await run({})
  assert.match(
    finding(good).found,
    /^s3:\/\/headland-test\/x at 127.0.0.1:\d+: write [\d.]+ ms, read [\d.]+ ms, delete/,
  )
  assert.equal(server.objects.size, 0)
  const bad = await run({ HEADLAND_OBJECT_STORE_KEY_ID: 'OTHER' })
  assert.equal(finding(bad).state, 'broken')
  assert.match(finding(bad).advice, /Check objectStoreKeyId/)
  assert.ok(!JSON.stringify([good, bad]).includes(KEYS.secret))
})

test('a backup says what is in the bucket, and does not call it missing', async (t) => {
  const { name: environment } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment, page('x'))).error, undefined)
  const file = join(await temporaryFolder(t), 'backup')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [HEADLAND, 'backup', file, '--json'], {
    env: {
      PATH: process.env.PATH,
      HEADLAND_DATA_DIR: service.dataDir,
      ...settings,
      ...(await databaseSettings(service.dataDir)),
    },
  })
  assert.match(
    stderr,
    /archives, closed logs and larger values of apps are in s3:\/\/headland-test\/one and not in the backup.* Switch versioning on/,
  )
  assert.deepEqual(JSON.parse(stdout).missing, [])
})
