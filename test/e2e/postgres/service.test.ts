/** A service on PostgreSQL, as `npm test` runs it; `npm run test:postgres` runs many more tests on it. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { assertRecorded, callAll, ledgerOf } from '../../support/service/callers.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
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

  test('the address of the database is shown nowhere', async () => {
    const shown = await service.operator('config')
    assert.match(shown, /databaseUrl +\[secret\] +environment/)
    for (const text of [shown, service.log()]) assert.doesNotMatch(text, /correct-horse/)
  })
})
