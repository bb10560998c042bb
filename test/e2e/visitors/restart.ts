/** What a stop, a kill and a start of the service leave of visits and of the values of apps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { appAt, CALLER } from '../../support/service/app-calls.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { until } from '../../support/until.ts'
import { restart, service } from './service.ts'

const as = await service.login()
const [counted, recorded, app] = [
  await createEnvironment(service, as),
  await createEnvironment(service, as),
  await createEnvironment(service, as),
]
for (const [{ name }, files] of [
  [counted, page('counted')],
  [recorded, page('recorded')],
  [app, CALLER],
] as const) {
  const { error } = await deploy(service, as, name, files)
  assert.equal(error, undefined, JSON.stringify(error))
}

const read = async (path: string) => {
  const { status, json, text } = await service.call(`/v1/${path}`, { as })
  assert.equal(status, 200, text)
  return json
}
const topPaths = () => read(`${counted.name}/trafficPaths?range=1h`)

async function untilCounted(requests: number): Promise<number> {
  return until(async () => {
    const { totals } = await read(`${counted.name}/traffic?range=1h`)
    return totals.requests >= requests && totals.requests
  }, `there were ${requests} requests`)
}

const records = (): Promise<resources.RequestRecords> => read(`${recorded.name}/requests?pageSize=200`)
const untilRecorded = (count: number): Promise<resources.RequestRecord[]> =>
  until(async () => {
    const { requests } = await records()
    return requests.length >= count && requests
  }, `${count} requests are recorded`)

test('a stop and a start lose no count of visits, and a killed edge counts nothing twice', async () => {
  for (let visit = 0; visit < 3; visit++) await siteAnswer(service, counted.url)
  // Without a pause: the edge sends its remaining counts when it stops.
  assert.equal(await restart('stop', { HEADLAND_EDGES: '2' }), 0)
  assert.deepEqual((await topPaths()).top, [{ path: '/', requests: 3 }])
  assert.equal(await untilCounted(3), 3)
  for (let visit = 0; visit < 2; visit++) await siteAnswer(service, counted.url)
  await untilCounted(5)
  process.kill(service.edgePid(), 'SIGKILL')
  await until(async () => (await service.call('/readyz')).status === 200)
  assert.equal(await untilCounted(5), 5)
})

test('two edges write to one log of requests', async () => {
  // A connection each: the kernel spreads them over the edges.
  for (let count = 0; count < 40; count++) await siteAnswer(service, recorded.url, `/${count}`)
  const before = await untilRecorded(40)
  assert.equal(new Set(before.map(({ path }) => path)).size, 40)
  assert.equal(new Set(before.map(({ number }) => number)).size, 40)
})

test('records of requests, values and tokens are as they were after a kill', async () => {
  const before = await appAt(service, app.url)
  assert.equal((await before.put('kept', { body: '"kept"' })).status, 204)
  await restart('kill')

  const now = await appAt(service, app.url)
  assert.equal(now.variables.HEADLESS_KV_STORE_TOKEN, before.variables.HEADLESS_KV_STORE_TOKEN)
  assert.equal(now.variables.HEADLESS_APPS_API_TOKEN, before.variables.HEADLESS_APPS_API_TOKEN)
  assert.equal((await now.get('kept')).text, '"kept"')
  assert.equal((await now.purge(['a'])).status, 200)

  assert.equal((await records()).requests.length, 40)
  await siteAnswer(service, recorded.url, '/after')
  const after = await untilRecorded(41)
  assert.equal(after[0]?.path, '/after')
  assert.ok((after[0]?.number ?? 0) > (after[1]?.number ?? 0))
})

test('where paths are not counted and requests not recorded, those that were are deleted', async () => {
  await restart('stop', { HEADLAND_COUNT_PATHS: 'false', HEADLAND_REQUEST_LOG: 'false' })
  const { isCounted, top } = await topPaths()
  assert.deepEqual({ isCounted, top }, { isCounted: false, top: [] })
  assert.deepEqual(await records(), { requests: [], isRecorded: false, nextPageToken: '' })
  const answer = await siteAnswer(service, recorded.url, '/x', { 'cache-control': 'only-if-cached' })
  assert.equal(answer.headers['headland-request-id'], undefined)
  await restart('stop')
  assert.deepEqual((await records()).requests, [])
})
