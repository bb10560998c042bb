/** A disk that is full to the last byte: visitors are served, callers can read, and writes fail cleanly. */
import assert from 'node:assert/strict'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { noSmallDisk, smallDisk } from '../../support/machine/small-disk.ts'
import { usesPostgres } from '../../support/postgres/databases.ts'
import { deploy, type Files, nodeServer, page, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startVisitors } from '../../support/service/load.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
async function cleanUp() {
  for (const end of ends) await end()
}
after(cleanUp)

const settings = { HEADLAND_DISK_RESERVE: '0' }

async function furnish() {
  const disk = await smallDisk(scope, 80)
  const service = await startService(scope, { dataDir: disk.folder, settings })
  const as = await service.login()
  const [site, app, spare] = [
    await createEnvironment(service, as),
    await createEnvironment(service, as),
    await createEnvironment(service, as),
  ]
  assert.equal((await deploy(service, as, site.name, page('a static site'))).error, undefined)
  assert.equal((await deploy(service, as, app.name, nodeServer('an app', 'console.log("visited")'))).error, undefined)
  return { disk, service, as, site, app, spare }
}

const missing = noSmallDisk ?? (usesPostgres ? 'is about a disk that the database is on' : undefined)
const options = { skip: missing ?? false }
/** If this fails, the mount must not outlive the test file. */
async function cleanUpAndFail(error: unknown): Promise<never> {
  await cleanUp()
  throw error
}
const home = missing === undefined ? await furnish().catch(cleanUpAndFail) : undefined
const given = () => home as NonNullable<typeof home>

const ballastOf = (dataDir: string) => join(dataDir, 'ballast')

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

const makeCredential = ({ service, as }: ReturnType<typeof given>) =>
  service.call('/v1/accounts/default/credentials', { method: 'POST', as, body: {} })

/** Fills the disk until the service has nothing left to delete and cannot write any more. */
async function fillUp() {
  const { disk } = given()
  do await disk.fill()
  while ((await makeCredential(given())).status === 200)
}

test('a build that fills the disk fails with DISK_FULL, and its visitors notice nothing', options, async (t) => {
  const { service, as, app } = given()
  const greedy: Files = {
    'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node x.js' } }),
    'build.js': `const fs = require('node:fs')
      const file = fs.openSync('large', 'w')
      for (;;) fs.writeSync(file, Buffer.alloc(1 << 20, 1))`,
  }
  const visitors = startVisitors(t, service, app.url)
  const failed = await deploy(service, as, app.name, greedy)
  assert.equal(reasonOf(failed), 'DISK_FULL', JSON.stringify(failed.error))
  assert.deepEqual((await visitors.stop()).failures, [])
})

test('on a full disk an environment can still be deleted', options, async () => {
  const { disk, service, as, spare } = given()
  await until(() => isThere(ballastOf(disk.folder)), 'there is ballast')
  await disk.fill()
  const asked = await service.call(`/v1/${spare.name}`, { method: 'DELETE', as })
  assert.equal(asked.status, 200, asked.text)
  assert.deepEqual((await untilDone(service, as, asked.json.name)).response, {})
})

test('on a full disk an upload is refused with a time to retry, and what would free space', options, async () => {
  await fillUp()
  const { service, as, site } = given()
  const refused = await upload(service, as, site.name, page('x'))
  assert.deepEqual([refused.status, refused.reason], [503, 'STORAGE_UNAVAILABLE'])
  assert.equal(refused.headers.get('retry-after'), '60')
  assert.match(refused.json.error.message, /Deleting environments that are not needed frees space/)
})

test('on a full disk no draft of an upload is left', options, async () => {
  assert.deepEqual(await readdir(join(given().disk.folder, 'blobs', 'aside')), [])
})

test('on a full disk everything that reads is answered', options, async () => {
  const { service, as, site, app } = given()
  for (const path of [
    '/v1/accounts',
    '/v1/accounts/default/apps',
    '/v1/accounts/default/usage',
    `/v1/${site.name}`,
    `/v1/${site.name}/usage`,
    `/v1/${site.name}/builds`,
    `/v1/${site.name}/deployments`,
    `/v1/${site.name}/operations`,
    `/v1/${app.name}/logs`,
    '/metrics',
    '/readyz',
  ]) {
    const { status, text } = await service.call(path, { as })
    assert.equal(status, 200, `${path}: ${text}`)
  }
})

for (const [what, path, body] of [
  ['an app', '/v1/accounts/default/apps?appId=another', { region: 'regions/UK', uploadable: {} }],
  ['a credential', '/v1/accounts/default/credentials', {}],
] as const) {
  test(`on a full disk ${what} is not created, and the response says why`, options, async () => {
    const { service, as } = given()
    const refused = await service.call(path, { method: 'POST', as, body })
    assert.deepEqual([refused.status, refused.reason], [503, 'STORAGE_UNAVAILABLE'])
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
  })
}

test('on a full disk sites and apps are served as usual', options, async (t) => {
  const { service, site, app } = given()
  for (const { url } of [site, app]) {
    const visitors = startVisitors(t, service, url)
    await until(async () => visitors.count() > 200, '200 visits')
    assert.deepEqual((await visitors.stop()).failures, [])
  }
})

test('once there is free space, everything works again, and the log of the app continues', options, async () => {
  const { disk, service, as, site, app } = given()
  const linesOfApp = async () => (await service.call(`/v1/${app.name}/logs`, { as })).text.split('\n').length
  const before = await linesOfApp()
  await disk.free()
  assert.equal((await makeCredential(given())).status, 200)
  const done = await deploy(service, as, site.name, page('after'))
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.match((await siteAnswer(service, site.url)).text, /after/)
  await until(async () => (await linesOfApp()) > before, 'the log has more lines')
})

test('a service that is killed on a full disk starts again with all its data', options, async () => {
  const { disk, service, as, site } = given()
  await fillUp()
  await service.kill()
  await disk.free()
  const again: TestService = await startService(scope, { dataDir: disk.folder, settings })
  const { json } = await again.call(`/v1/${site.name}`, { as })
  assert.match((await siteAnswer(again, json.url)).text, /after/)
  assert.equal((await deploy(again, as, site.name, page('again'))).error, undefined)
  assert.equal(await again.stop(), 0)
})

test('the database is intact after all of this', options, () => {
  const database = new DatabaseSync(join(given().disk.folder, 'headland.db'))
  assert.deepEqual(
    database
      .prepare('PRAGMA integrity_check')
      .all()
      .map((row) => ({ ...row })),
    [{ integrity_check: 'ok' }],
  )
  database.close()
})
