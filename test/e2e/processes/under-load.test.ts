/**
 * Visitors do not notice that the control process is restarted or killed, or that a new version takes over: under constant
 * load of several kinds no request fails, no connection breaks, apps keep their processes, and nothing that was acknowledged
 * is lost.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rounds } from '../../support/long.ts'
import { LOADED_SITE, type Load, startLoad } from '../../support/service/constant-load.ts'
import { copyOf, reload } from '../../support/service/copies.ts'
import { deploy } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { processesOf } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
// The WebSocket of the first round is still open in the last, however long the rounds take.
const service = await startService(scope, { settings: { HEADLAND_DRAIN_TIMEOUT: '7200' } })
const as = await service.login()
const environment = await createEnvironment(service, as)
assert.equal((await deploy(service, as, environment.name, LOADED_SITE)).error, undefined)

const load: Load = await startLoad(scope, { service, as, environment })
const started = await load.get('/started')

/** Fails if a visitor has noticed anything, or an app has another process. */
async function assertUnnoticed(what: string) {
  const seen = await load.take()
  assert.deepEqual(seen.failures, [], what)
  for (const [kind, count] of Object.entries(seen.counts)) assert.ok(count > 0, `${what}: no ${kind}`)
  assert.equal(await load.get('/started'), started, what)
}

const untilReady = () =>
  until(
    async () => (await fetch(`${service.api}/readyz`).catch(() => undefined))?.status === 200,
    'the service is ready',
  )

async function replaceControl(signal: 'SIGTERM' | 'SIGKILL') {
  const { control: old } = processesOf(service.pid)
  assert.ok(old)
  process.kill(old, signal)
  await until(() => ![undefined, old].includes(processesOf(service.pid).control))
  await untilReady()
  await load.untilPurged()
}

for (const [signal, what] of [
  ['SIGTERM', 'restarted'],
  ['SIGKILL', 'killed'],
] as const)
  test(`the control process is ${what} again and again`, async () => {
    for (let round = 0; round < rounds({ short: 2, long: 20 }); round++) await replaceControl(signal)
    await assertUnnoticed(what)
  })

test('one version after the other takes over', async () => {
  for (let round = 0; round < rounds({ short: 1, long: 10 }); round++) {
    const { stdout } = await reload(await copyOf(scope, `9.9.${round}`), service)
    assert.match(stdout, /serves now/)
    await untilReady()
    await load.untilPurged()
  }
  await assertUnnoticed('a reload')
})
