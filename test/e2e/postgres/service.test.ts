/** A service on PostgreSQL, as `npm test` runs it; `npm run test:postgres` runs further tests on it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/folder.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { assertRecorded, callAll, ledgerOf } from '../../support/service/callers.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import { HEADLAND } from '../../support/service/headland.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks } from '../../support/service/webhooks.ts'

suite('with a service on PostgreSQL', NEEDS_POSTGRES, async () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })
  const server = await startPostgres(scope)
  const url = await server.createDatabase()
  const settings = { HEADLAND_DATABASE_URL: url }
  const dataDir = await temporaryFolder(scope)
  let service = await startService(scope, { dataDir, settings })
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment.name, page('one'))).error, undefined)

  test('a site is deployed, rebuilt by its webhook, and found again after kill -9', async () => {
    const urls = await createWebhooks(service, as, environment.name)
    const calls = Array.from({ length: 100 }, () => urls.rebuild)
    const called = await callAll(service, calls, 10)
    await service.kill()
    service = await startService(scope, { dataDir, settings })
    assertRecorded(called, await ledgerOf(service, as, environment.name))
    for (const operation of new Set(called.map((one) => one.operation)))
      assert.equal((await untilDone(service, as, operation)).error, undefined)
    assert.match((await siteAnswer(service, environment.url)).text, /one/)
  })

  test("what an operator's command changes is told to followers in the service", async (t) => {
    const follower = await follow(t, service, { as })
    await follower.until((events) => events.length > 0)
    await service.operator('credentials', 'create', '--account', 'default', '--role', 'viewer', '--json')
    await follower.untilNamed(/^accounts\/default\/credentials/)
  })

  test('the doctor writes, reads and deletes, and reports how long each took', async () => {
    const findings: { part: string; state: string; found: string }[] = JSON.parse(
      await service.operator('doctor', '--json'),
    )
    const found = findings.find(({ part }) => part === 'database')
    assert.equal(found?.state, 'ok')
    assert.match(
      found?.found ?? '',
      /^postgres:\/\/headland@127\.0\.0\.1:\d+\/\S+: write [\d.]+ ms, read [\d.]+ ms, delete [\d.]+ ms$/,
    )
    assert.equal(await server.psql(`SELECT COUNT(*) FROM instance WHERE name LIKE 'trial%'`, url), '0')
  })

  test('a backup has rows and files, names the command for the rows alone, and is restored as SQLite', async () => {
    const folder = await temporaryFolder(scope)
    const env = { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir, ...settings }
    const args = [HEADLAND, 'backup', join(folder, 'backup.tar'), '--with-key']
    const { stderr } = await promisify(execFile)(process.execPath, args, { env })
    assert.match(stderr, /pg_dump --format=custom --file=headland\.dump 'postgres:\/\/headland@127\.0\.0\.1/)
    assert.doesNotMatch(stderr, /correct-horse/)
    const restored = join(folder, 'data')
    await promisify(execFile)(process.execPath, [HEADLAND, 'restore', join(folder, 'backup.tar'), '--trust'], {
      env: { PATH: process.env.PATH, HEADLAND_DATA_DIR: restored },
    })
    const other = await startService(scope, { dataDir: restored, settings: { HEADLAND_DATABASE_URL: '' } })
    assert.equal((await other.call(`/v1/${environment.name}`, { as })).status, 200)
    assert.match((await siteAnswer(other, environment.url)).text, /one/)
  })

  test('the address of the database is shown nowhere', async () => {
    const shown = await service.operator('config')
    assert.match(shown, /databaseUrl +\[secret\] +environment/)
    for (const text of [shown, service.log()]) assert.doesNotMatch(text, /correct-horse/)
  })
})
