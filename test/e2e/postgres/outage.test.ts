/**
 * The database is lost under load, and comes back: visitors do not notice it, callers of the API and of webhooks are told to
 * come again, nothing that was acknowledged is lost, and everything goes on by itself.
 */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from '../../support/folder.ts'
import { isLong } from '../../support/long.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { assertRecorded, type Called, callAs, ledgerOf } from '../../support/service/callers.ts'
import { LOADED_SITE, startLoad } from '../../support/service/constant-load.ts'
import { deploy, nodeServer, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

/** Beside what the test does meanwhile. */
const OUTAGE_MS = isLong ? 30_000 : 0

const SLOW_BUILD = {
  'package.json': JSON.stringify({ scripts: { build: 'sleep 2; mkdir dist; echo slow > dist/index.html' } }),
}

const STORED = `response.setHeader('cache-control', 's-maxage=3600')`

const body = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms' }

suite('with a database that is lost', NEEDS_POSTGRES, async () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })
  const server = await startPostgres(scope)
  const dataDir = await temporaryFolder(scope)
  const settings = {
    HEADLAND_DATABASE_URL: await server.createDatabase(),
    HEADLAND_WEBHOOK_CALLS: '1000000',
    HEADLAND_IDLE_TIMEOUT: '1',
    // It wakes by a start, which takes more than to go on.
    HEADLAND_SLEEP_MEMORY: '0',
  }
  const first = await startService(scope, { dataDir, settings })
  const as = await first.login()
  const environment = await createEnvironment(first, as, { body: { ...body, minInstances: 1 } })
  const sleepy = await createEnvironment(first, as)
  const hooked = await createEnvironment(first, as)
  const urls = await createWebhooks(first, as, hooked.name, { quietSeconds: 0, maxQuietSeconds: 0 })
  assert.equal((await deploy(first, as, environment.name, LOADED_SITE)).error, undefined)
  assert.equal((await deploy(first, as, hooked.name, SLOW_BUILD)).error, undefined)
  const slept = await deploy(first, as, sleepy.name, nodeServer('awake', STORED))
  assert.equal(slept.error, undefined)
  const isAsleep = async (at: typeof first) =>
    (await at.call(`/v1/${slept.metadata.deployment}`, { as })).json.instance.state === 'ASLEEP'
  await until(() => isAsleep(first), 'it sleeps')
  // At the first outage, the app that sleeps is one that this service has never started.
  assert.equal(await first.stop(), 0)
  const service = await startService(scope, { dataDir, settings })
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
      await until(() => isAsleep(service), 'it sleeps')
      const uploaded = await upload(service, as, hooked.name, SLOW_BUILD)
      assert.equal(uploaded.status, 200)
      await until(
        async () => (await service.call(`/v1/${uploaded.json.name}`, { as })).json.metadata.phase === 'BUILDING',
      )
      // Calls before the upload would join a rebuild that the upload replaces.
      const called: Called[] = []
      const calling = callUntil(what, over.signal, called)
      await until(() => called.length >= 3)
      await load.take()
      await lose()
      const read = await service.call(`/v1/${hooked.name}`, { as })
      assert.deepEqual([read.status, read.reason], [503, 'STORAGE_UNAVAILABLE'])
      assert.ok(Number(read.headers.get('retry-after')) > 0)
      const hooking = await callAs('during', service, urls.rebuild)
      assert.equal(hooking.status, 503)
      assert.ok(Number(hooking.retryAfter) > 0)
      const woken = await siteAnswer(service, sleepy.url, `/${what}`)
      assert.deepEqual([woken.status, woken.text], [200, 'awake'])
      await sleep(OUTAGE_MS)
      const stored = await siteAnswer(service, sleepy.url, `/${what}`)
      assert.match(String(stored.headers['cache-status']), /; hit/, 'stored responses are used to the end')
      const meanwhile = await load.take()
      assert.deepEqual(meanwhile.failures, [])
      for (const kind of ['hit', 'miss', 'new connection', 'stream', 'upload', 'message'])
        assert.ok(meanwhile.counts[kind], `${kind}: ${JSON.stringify(meanwhile.counts)}`)
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
      t.diagnostic(`during it: ${JSON.stringify(meanwhile.counts)}, ${called.length} calls of a webhook`)
    })
})
