/** Pages that were revalidated elsewhere, in an app like one of Next.js on another machine than the service. They are 90 seconds old. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { HOOK_FILES } from '../../../src/runtime/index.ts'
import { startApi, startApp } from '../../support/service/next-app.ts'
import { until } from '../../support/until.ts'

const ago = (seconds: number): number => Date.now() - seconds * 1000
/** Before the instance was made, which gives the files of the image its own time. */
const built = JSON.stringify({ began: ago(200), ended: ago(180) })

async function start(t: TestContext) {
  const calls: { path: string | undefined; authorization: string | undefined }[] = []
  const api = { record: {} as object, status: 200, calls, gate: Promise.resolve(), made: {} as Record<string, number> }
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      Object.assign(api.made, JSON.parse(await text(request)).made)
      return response.end('{}')
    }
    calls.push({ path: request.url, authorization: request.headers.authorization })
    const { record, status, gate } = api
    await gate
    response.writeHead(status).end(JSON.stringify(record))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const purging = await startApi(t)
  const app = await startApp(t, purging, {
    NODE_OPTIONS: `--require=${join(HOOK_FILES.from, 'next/in-image.cjs')}`,
    HEADLAND_NEXT_BUILT: built,
    HEADLESS_APPS_API_URL_ADDRESS: url,
  })
  const get = async (purge?: number, path = '/page?key=/old') => {
    const headers = purge === undefined ? {} : { 'x-headland-purge': String(purge) }
    return (await app.get(path, headers)).text
  }
  return { api, app, get }
}

test('a request with a higher number waits until what was revalidated is known', async (t) => {
  const { api, get } = await start(t)
  assert.equal(await get(1), 'made by the build, long ago')
  api.record = { tags: { posts: ago(60) } }
  assert.equal(await get(1), 'made by the build, long ago', 'the number is the same')
  assert.equal(await get(2), 'made anew')
  assert.deepEqual(api.calls[0], { path: '/v1/envs/an-environment/revalidations', authorization: 'Bearer a-token' })
})

test('a page of the build is older than what was revalidated between the build and the start of the instance', async (t) => {
  const { api, get } = await start(t)
  api.record = { tags: { posts: ago(150) } }
  assert.equal(await get(1), 'made anew')
})

test('the service is asked once for each number, whatever the number of requests, and not for lower ones', async (t) => {
  const { api, get } = await start(t)
  await Promise.all(Array.from({ length: 5 }, () => get(3)))
  await get(2)
  await get()
  assert.equal(api.calls.length, 1)
})

test('where the service does not answer, pages are made anew, and the next request asks again', async (t) => {
  const { api, app, get } = await start(t)
  api.status = 500
  assert.equal(await get(1), 'made anew')
  assert.match(app.output(), /what was revalidated is not known, so all pages are made anew: the API answered 500/)
})

for (const [name, revalidated] of Object.entries({
  'a tag': () => ({ tags: { posts: ago(1) } }),
  everything: () => ({ everything: ago(1) }),
}))
  test(`a page that was made after ${name} was revalidated, and before that was known here, is made anew`, async (t) => {
    const { api, get } = await start(t)
    await get(1)
    api.record = revalidated()
    assert.equal(await get(1, '/counted'), 'made 1')
    assert.equal(await get(2, '/counted'), 'made 2')
    assert.equal(await get(2, '/counted'), 'made 2')
    assert.equal(await get(3, '/counted'), 'made 2', 'it is no news')
  })

test('a page that was made before anything was known is made anew', async (t) => {
  const { api, get } = await start(t)
  api.record = { tags: { posts: ago(1) } }
  assert.equal(await get(undefined, '/counted'), 'made 1')
  assert.equal(await get(1, '/counted'), 'made 2')
  assert.equal(await get(2, '/counted'), 'made 2')
})

test('a page that is being stored while a purge becomes known is made anew, whatever its date', async (t) => {
  const { api, get } = await start(t)
  await get(1)
  const first = get(1, '/counted?slowly')
  await until(async () => (await get(1, '/storing')) === 'true', 'the page is being stored')
  api.record = { everything: ago(1) }
  await get(2, '/store')
  assert.equal(await first, 'made 1')
  assert.equal(await get(2, '/counted'), 'made 2')
  assert.equal(await get(2, '/counted'), 'made 2')
})

test('an older answer of the service does not replace a newer one', async (t) => {
  const { api, get } = await start(t)
  await get(1, '/counted')
  const gate = Promise.withResolvers<void>()
  api.gate = gate.promise
  const slow = get(2)
  await until(() => api.calls.length === 2, 'the service is asked')
  api.gate = Promise.resolve()
  api.record = { tags: { posts: ago(60) } }
  assert.equal(await get(3, '/fetched'), 'new')
  gate.resolve()
  await slow
  assert.equal(await get(3), 'made anew')
})

test('tags that the service has merged into one time make no newer page old', async (t) => {
  const { api, get } = await start(t)
  const posts = ago(5)
  api.record = { tags: { one: ago(60), posts } }
  await get(1)
  assert.equal(await get(1, '/counted'), 'made 1')
  api.record = { everything: ago(60), tags: { posts } }
  assert.equal(await get(2, '/counted'), 'made 1')
})

test('a page that was made by time is not made again because of its own record', async (t) => {
  const { api, get } = await start(t)
  await get(1, '/stale')
  await until(() => api.made['_N_T_/old'] !== undefined, 'the page is recorded')
  api.record = { tags: api.made }
  assert.equal(await get(2), 'made by the build')
  api.record = { tags: { '_N_T_/old': ago(0) } }
  assert.equal(await get(3), 'made anew')
})
