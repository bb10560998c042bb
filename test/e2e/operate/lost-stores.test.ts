/**
 * The registry or the object store is lost under load, and comes back: visitors of awake apps and of sleeping ones do not notice
 * it, and a deploy that needs it goes on by itself.
 */
import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NEEDS_REGISTRY, startRegistry } from '../../support/images/registry.ts'
import { rounds } from '../../support/long.ts'
import { BUCKET, KEYS, startS3Server } from '../../support/object-store/s3-server.ts'
import { settingsFor } from '../../support/object-store/service.ts'
import { LOADED_SITE, startLoad } from '../../support/service/constant-load.ts'
import { deploy, nodeServer, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

/** The short form waits for what has to happen meanwhile, and for nothing else. */
const AWAY_MS = rounds({ short: 0, long: 30_000 })
const WAKES = rounds({ short: 1, long: 5 })

/** On a busy machine a second may pass without a visitor. */
const ALWAYS_AWAKE = { displayName: 'Visited', branch: 'uploadable', cmsEnvironment: 'cms', minInstances: 1 }

type Site = { service: TestService; as: Login; environment: string }

type Store = {
  settings: Record<string, string>
  stop(): Promise<unknown>
  start(): Promise<unknown>
  /** Begins something that cannot end without the store, and resolves to its operation. */
  needIt(site: Site): Promise<string>
}

async function registryOf(t: TestContext): Promise<Store> {
  const registry = await startRegistry(t)
  return {
    ...registry,
    settings: { HEADLAND_REGISTRY: registry.url },
    async needIt({ service, as, environment }) {
      const { json } = await upload(service, as, environment, page('after'))
      const log = async () => (await service.call(`/v1/${json.metadata.build}/log`, { as })).text
      await until(async () => /is away, and is asked again/.test(await log()), 'the deploy waits for the registry')
      return json.name
    },
  }
}

async function objectStoreOf(t: TestContext): Promise<Store> {
  const server = await startS3Server(t)
  return {
    settings: settingsFor({ ...server, bucket: BUCKET, ...KEYS }, 'lost'),
    stop: server.stop,
    start: server.startAgain,
    async needIt({ service, as, environment }) {
      // The archive is in the store alone.
      const cache = join(service.dataDir, 'object-cache')
      for (const folder of await readdir(cache))
        if (folder !== 'aside') await rm(join(cache, folder), { recursive: true })
      const { json } = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
      return json.name
    },
  }
}

const STORES = [
  ['the registry', registryOf, NEEDS_REGISTRY],
  ['the object store', objectStoreOf, {}],
] as const

for (const [what, open, options] of STORES)
  test(
    `while ${what} is lost visitors notice nothing, and what needs it goes on when it is back`,
    options,
    async (t) => {
      const store = await open(t)
      // An app that sleeps was stopped: to start it takes more than to let it go on.
      const sleepy = { HEADLAND_IDLE_TIMEOUT: '2', HEADLAND_SLEEP_MEMORY: '0' }
      const service = await startService(t, { settings: { ...store.settings, ...sleepy } })
      const as = await service.login()
      const [visited, sleeper, deployed] = [
        await createEnvironment(service, as, { body: ALWAYS_AWAKE }),
        await createEnvironment(service, as),
        await createEnvironment(service, as),
      ]
      const succeed = async (environment: string, files: Parameters<typeof deploy>[3]) => {
        const done = await deploy(service, as, environment, files)
        assert.equal(done.error, undefined, JSON.stringify(done.error))
        return done
      }
      await succeed(visited.name, LOADED_SITE)
      const { metadata } = await succeed(sleeper.name, nodeServer('awake'))
      await succeed(deployed.name, page('before'))
      const isAsleep = async () =>
        (await service.call(`/v1/${metadata.deployment}`, { as })).json.instance.state === 'ASLEEP'
      const load = await startLoad(t, { service, as, environment: visited })
      await until(isAsleep, 'the app sleeps')
      const controlPid = service.controlPid()
      assert.deepEqual((await load.take()).failures, [])

      await store.stop()
      const lostAt = performance.now()
      const operation = await store.needIt({ service, as, environment: deployed.name })
      for (let count = 0; count < WAKES; count++) {
        await until(isAsleep, 'the app sleeps')
        assert.equal((await siteAnswer(service, sleeper.url)).text, 'awake')
      }
      assert.match((await siteAnswer(service, deployed.url)).text, /before/)
      await load.untilPurged()
      await sleep(Math.max(0, AWAY_MS - (performance.now() - lostAt)))
      const during = await load.take()
      assert.deepEqual(during.failures, [])
      for (const kind of ['hit', 'miss', 'new connection', 'stream', 'upload', 'purge', 'change', 'message'])
        assert.ok((during.counts[kind] ?? 0) > 0, `there was a ${kind}`)
      assert.ok(!(await service.call(`/v1/${operation}`, { as })).json.done, 'it still waits')

      await store.start()
      const { error } = await untilDone(service, as, operation)
      assert.equal(error, undefined, JSON.stringify(error))
      assert.deepEqual((await load.take()).failures, [])
      assert.equal(service.controlPid(), controlPid, 'no process was started again')
    },
  )
