/** From the call of a webhook to the first visitor, through the whole service. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, type Files, reasonOf, untilDone, uploadWithQuery } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks, hook } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after })
const as = await service.login()
const { name, url } = await createEnvironment(service, as)

/** A site whose builds differ from each other. */
const SITE: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
  'build.js': `require('node:fs').mkdirSync('dist')
    require('node:fs').writeFileSync('dist/index.html', '<!doctype html>' + process.hrtime.bigint())`,
}

const read = async <T>(path: string): Promise<T> => {
  const { status, text, json } = await service.call(`/v1/${name}/${path}`, { as })
  assert.equal(status, 200, text)
  return json
}
const published = async (query = ''): Promise<resources.Publish[]> =>
  (await read<{ publishes: resources.Publish[] }>(`publishes${query}`)).publishes
const newest = async (): Promise<resources.Publish> => (await published())[0] as resources.Publish
/** Edges report every five seconds. */
const visited = () =>
  until(async () => {
    const found = await newest()
    return found.firstVisitTime === undefined ? undefined : found
  }, 'the first visit is known')

await deploy(service, as, name, SITE)
const urls = await createWebhooks(service, as, name, { quietSeconds: 0 })

test('webhook, rebuild, visitor: each time follows the one before, and the first page counts', async () => {
  const before = Date.now()
  const called = await hook(service, urls.rebuild)
  await untilDone(service, as, called.json.name)
  const made = await newest()
  assert.equal(made.firstVisitTime, undefined)
  assert.equal((await siteAnswer(service, url, '/nothing-there')).status, 404)
  const visitTime = Date.now()
  assert.equal((await siteAnswer(service, url)).status, 200)
  const seen = await visited()
  const { kind, trigger, state, calls, operation, late, requestedBy } = seen
  assert.deepEqual(
    { kind, trigger, state, calls, operation, late, by: requestedBy?.kind },
    {
      ...{ kind: 'BUILD', trigger: 'REBUILD', state: 'VISIBLE', calls: 1, operation: called.json.name },
      ...{ late: false, by: 'WEBHOOK' },
    },
  )
  const times = [seen.callTime, seen.beginTime, seen.builtTime, seen.visibleTime, seen.firstVisitTime]
  const all = times.map((time) => Date.parse(time ?? ''))
  assert.deepEqual(
    all,
    all.toSorted((a, b) => a - b),
  )
  assert.ok((all[0] ?? 0) >= before && (all[4] ?? 0) >= visitTime - 5, times.join())
  const { waitingMs = 0, buildingMs = 0, switchingMs = 0 } = seen
  assert.equal(waitingMs + buildingMs + switchingMs, seen.visibleMs)
})

test('webhook, purge, visitor', async () => {
  const called = await hook(service, urls.purgeCache)
  assert.equal(called.status, 200, called.text)
  await siteAnswer(service, url)
  const { kind, state, operation, buildingMs } = await visited()
  assert.deepEqual([kind, state, operation, buildingMs], ['PURGE', 'VISIBLE', called.json.name, undefined])
  assert.deepEqual(
    (await published('?kind=BUILD')).map(({ kind }) => kind),
    ['BUILD', 'BUILD'],
  )
})

test('a build that fails and one that brings nothing new are listed, and count for no percentile', async () => {
  const environment = await createEnvironment(service, as)
  const site = { 'index.html': '<!doctype html><p>the same' }
  await deploy(service, as, environment.name, site)
  await deploy(service, as, environment.name, site)
  const failed = await deploy(service, as, environment.name, {
    'package.json': JSON.stringify({ scripts: { build: 'exit 3' } }),
  })
  const { json } = await service.call(`/v1/${environment.name}/publishes`, { as })
  assert.deepEqual(
    json.publishes.map(({ state, reason }: resources.Publish) => [state, reason]),
    [
      ['FAILED', reasonOf(failed)],
      ['UNCHANGED', undefined],
      ['VISIBLE', undefined],
    ],
  )
  const { json: times } = await service.call(`/v1/${environment.name}/publishTimes?range=1h`, { as })
  assert.deepEqual([times.kinds[0].visible.count, times.kinds[0].states.length], [1, 3])
})

test('a publish that is slower than promised is late, and counted with the percentiles and the metrics', async () => {
  const promised = await service.call(`/v1/${name}`, { method: 'PATCH', as, body: { publishPromiseSeconds: 1 } })
  assert.equal(promised.status, 200, promised.text)
  await untilDone(service, as, promised.json.name)
  const slow = { ...SITE, 'build.js': `${SITE['build.js']}\nsetTimeout(() => {}, 1500)` }
  const asked = await uploadWithQuery(service, as, { environment: name, query: '' }, slow)
  await untilDone(service, as, asked.json.name)
  const { late, promiseSeconds, trigger } = await newest()
  assert.deepEqual([late, promiseSeconds, trigger], [true, 1, 'UPLOAD'])
  const times = await read<resources.PublishTimes>('publishTimes')
  assert.equal(times.promiseSeconds, 1)
  assert.deepEqual(
    times.kinds.map(({ kind, visible, late, states }) => [kind, visible.count, late, states]),
    [
      ['BUILD', 3, 1, [{ state: 'VISIBLE', count: 3 }]],
      ['PURGE', 1, 0, [{ state: 'VISIBLE', count: 1 }]],
    ],
  )
  const { text } = await service.call('/metrics')
  const counted = (kind: string, until: string) =>
    Number(new RegExp(`headland_publish_seconds_count\\{kind="${kind}",until="${until}"\\} (\\d+)`).exec(text)?.[1])
  assert.deepEqual([counted('build', 'visible'), counted('purge', 'visible')], [4, 1])
  assert.deepEqual([counted('build', 'visited'), counted('purge', 'visited')], [1, 1])
  for (const wrong of [0, 1.5, 86_401, '60']) {
    const body = { publishPromiseSeconds: wrong }
    assert.equal((await service.call(`/v1/${name}`, { method: 'PATCH', as, body })).status, 400)
  }
})
