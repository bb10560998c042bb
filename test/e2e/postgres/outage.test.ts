/**
 * The database is lost under load, and comes back: visitors do not notice it, callers of the API and of webhooks are told to
 * come again, nothing that was acknowledged is lost, and everything goes on by itself.
 */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLong } from '../../support/long.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { assertRecorded, type Called, callAs, ledgerOf } from '../../support/service/callers.ts'
import { LOADED_SITE, startLoad } from '../../support/service/constant-load.ts'
import { deploy, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

const OUTAGE_MS = isLong ? 30_000 : 4000

/** It takes a minute, most of which is load: a part of `npm run test:postgres` and of `npm run test:long`. */
const isOfPostgres = isLong || process.env.TEST_DATABASE === 'postgres'
const options = isOfPostgres ? NEEDS_POSTGRES : { skip: 'takes a minute: npm run test:postgres' }

const SLOW_BUILD = {
  'package.json': JSON.stringify({ scripts: { build: 'sleep 2; mkdir dist; echo slow > dist/index.html' } }),
}

suite('with a database that is lost', options, async () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })
  const server = await startPostgres(scope)
  const settings = { HEADLAND_DATABASE_URL: await server.createDatabase(), HEADLAND_WEBHOOK_CALLS: '1000000' }
  const service = await startService(scope, { settings })
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  const hooked = await createEnvironment(service, as)
  const urls = await createWebhooks(service, as, hooked.name, { quietSeconds: 0, maxQuietSeconds: 0 })
  assert.equal((await deploy(service, as, environment.name, LOADED_SITE)).error, undefined)
  assert.equal((await deploy(service, as, hooked.name, SLOW_BUILD)).error, undefined)
  const load = await startLoad(scope, { service, as, environment })
  const started = await load.get('/started')

  /** Calls a webhook again and again until the signal. */
  async function callUntil(name: string, signal: AbortSignal, called: Called[]) {
    while (!signal.aborted) {
      called.push(await callAs(`${name}-${called.length}`, service, urls.rebuild))
      await sleep(50)
    }
  }

  for (const [what, lose, bringBack] of [
    ['stopped', server.stop, server.start],
    ['frozen', async () => server.freeze(), async () => server.thaw()],
  ] as const)
    test(`the database is ${what} for a while`, async (t) => {
      const over = new AbortController()
      t.after(() => over.abort())
      const controlPid = service.controlPid()
      const uploaded = await upload(service, as, hooked.name, SLOW_BUILD)
      assert.equal(uploaded.status, 200)
      await until(
        async () => (await service.call(`/v1/${uploaded.json.name}`, { as })).json.metadata.phase === 'BUILDING',
      )
      // Calls before the upload would join a rebuild that the upload replaces.
      const called: Called[] = []
      const calling = callUntil(what, over.signal, called)
      await until(() => called.length >= 3)
      await lose()
      const read = await service.call(`/v1/${hooked.name}`, { as })
      assert.deepEqual([read.status, read.reason], [503, 'STORAGE_UNAVAILABLE'])
      assert.ok(Number(read.headers.get('retry-after')) > 0)
      const hooking = await callAs('during', service, urls.rebuild)
      assert.equal(hooking.status, 503)
      assert.ok(Number(hooking.retryAfter) > 0)
      await sleep(OUTAGE_MS)
      await bringBack()
      await until(async () => (await service.call(`/v1/${hooked.name}`, { as })).status === 200, 'the API answers')
      over.abort()
      await calling
      assert.deepEqual([...new Set(called.map(({ status }) => status))].toSorted(), [200, 503])
      const acknowledged = called.filter(({ status }) => status === 200)
      assertRecorded(acknowledged, await ledgerOf(service, as, hooked.name))
      const { error } = await untilDone(service, as, uploaded.json.name)
      assert.equal(error, undefined, JSON.stringify(error))
      for (const operation of new Set(acknowledged.map((one) => one.operation)))
        assert.equal((await untilDone(service, as, operation)).error, undefined)
      await load.untilPurged()
      const seen = await load.take()
      assert.deepEqual(seen.failures, [])
      assert.equal(await load.get('/started'), started)
      assert.equal(service.controlPid(), controlPid, 'no process was started again')
    })
})
