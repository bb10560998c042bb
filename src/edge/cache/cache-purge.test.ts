/** A purged response is not served to any later request, whether it was stored or in flight. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, HOST, serverTarget, startTestEdge, startUpstream, untilStill } from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import type { Target } from '../routes.ts'

const MINUTE = { 'cache-control': 's-maxage=60' }
const OTHER = 'other.localhost'

/** Answers with how many it was asked for; tags by the last part of the path. */
const tagged = (asked: () => number) => (request: IncomingMessage, response: ServerResponse) =>
  send(response, { ...MINUTE, 'cache-tag': `all, ${request.url?.split('/').at(-1)}` }, String(asked()))

const otherTarget = (port: number): Target => ({ ...serverTarget(port, 'i9', 'd9'), environment: 'e9' })

test('everything, a path or a tag is purged from one environment, and nothing else goes', async (t) => {
  const edge = await cachedApp(
    t,
    tagged(() => edge.asked.length),
  )
  edge.use({ [HOST]: serverTarget(edge.app.port), [OTHER]: otherTarget(edge.app.port) })
  const paths = ['/', '/a', '/b', '/c/a']
  const state = async () => {
    const before = edge.asked.length
    const missed: string[] = []
    for (const path of paths) if ((await edge.get(path)).headers.age === undefined) missed.push(path)
    for (const path of paths) {
      const answer = await ask(edge.port, { host: OTHER, path })
      if (answer.headers.age === undefined) missed.push(`other ${path}`)
    }
    assert.equal(missed.length, edge.asked.length - before)
    return missed
  }
  await state()
  assert.deepEqual(await state(), [])
  edge.purge({ environment: 'e1', paths: ['/a'] })
  assert.deepEqual(await state(), ['/a'])
  edge.purge({ environment: 'e1', tags: ['a'] })
  assert.deepEqual(await state(), ['/a', '/c/a'])
  edge.purge({ environment: 'e1', tags: ['c', 'A', 'nothing'] })
  assert.deepEqual(await state(), [])
  edge.purge({ environment: 'e1', paths: ['/b'], tags: ['a'] })
  assert.deepEqual(await state(), ['/a', '/b', '/c/a'])
  edge.purge({ environment: 'e1' })
  assert.deepEqual(await state(), paths)
  edge.purge({ environment: 'e9', paths: ['/'] })
  assert.deepEqual(await state(), ['other /'])
  edge.purge({ environment: 'e7' })
  assert.deepEqual(await state(), [])
})

test('a path is purged with its queries, with a slash at its end, and however it is spelled', async (t) => {
  const edge = await cachedApp(
    t,
    tagged(() => edge.asked.length),
  )
  const spelled = ['/caf%C3%A9', '/caf%c3%a9', '/caf%C3%A9/', '/caf%C3%A9?page=2', '/c%61f%C3%A9']
  const others = ['/caf%C3%A9/menu', '/cafe', '/caf%25C3%25A9']
  for (const purged of ['/café', '/caf%C3%A9', '/café/', '/caf%c3%a9?x', `http://${HOST}/café`]) {
    for (const path of [...spelled, ...others]) await edge.get(path)
    edge.purge({ environment: 'e1', paths: [purged] })
    for (const path of spelled) assert.equal((await edge.get(path)).headers.age, undefined, `${path} by ${purged}`)
    for (const path of others) assert.notEqual((await edge.get(path)).headers.age, undefined, `${path} by ${purged}`)
  }
})

test('all variants of a path go with it', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) =>
    send(response, { ...MINUTE, vary: 'accept-language' }, `${headers['accept-language']} ${edge.asked.length}`),
  )
  const all = [{ 'accept-language': 'de' }, { 'accept-language': 'en' }, { rsc: '1' }, {}]
  for (const headers of all) await edge.get('/', headers)
  for (const headers of all) assert.notEqual((await edge.get('/', headers)).headers.age, undefined)
  edge.purge({ environment: 'e1', paths: ['/'] })
  for (const headers of all) assert.equal((await edge.get('/', headers)).headers.age, undefined)
  assert.equal(edge.asked.length, 8)
})

for (const [name, purge] of Object.entries({
  everything: {},
  'its path': { paths: ['/page'] },
  'its tag': { tags: ['page'] },
})) {
  test(`a response that was in flight when ${name} was purged is not served to later requests, and not stored`, async (t) => {
    const app: ServerResponse[] = []
    const edge = await cachedApp(t, (_, response) => app.push(response))
    const reply = (n: number, body: string) => {
      const headers = { ...MINUTE, 'cache-tag': 'page' }
      send(app[n] as ServerResponse, headers, body)
    }
    const before = edge.get('/page')
    await until(() => app.length === 1)
    edge.purge({ environment: 'e1', ...purge })
    const after = [edge.get('/page'), edge.get('/page')]
    await until(() => app.length === 2)
    assert.equal(await untilStill(() => app.length), 2, 'those who came after share a fetch of their own')
    reply(1, 'new')
    for (const answer of await Promise.all(after)) assert.equal(answer.text, 'new')
    reply(0, 'old')
    const first = await before
    assert.equal(first.text, 'old')
    assert.doesNotMatch(statusOf(first), /stored/)
    const hit = await edge.get('/page')
    assert.equal(hit.text, 'new')
    assert.match(statusOf(hit), /^hit/)
  })
}

test('no request joins a response whose body was arriving when it was purged', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const sent = request({ host: '127.0.0.1', port: edge.port, headers: { host: HOST }, agent: false }).end()
  await until(() => app.length === 1)
  app[0]?.writeHead(200, MINUTE)
  app[0]?.write('old ')
  const [begun] = (await once(sent, 'response')) as [IncomingMessage]
  begun.resume()
  edge.purge({ environment: 'e1' })
  const after = edge.get()
  await until(() => app.length === 2)
  send(app[1] as ServerResponse, MINUTE, 'new')
  assert.equal((await after).text, 'new')
  app[0]?.end('end')
  await once(begun, 'end')
  assert.equal((await edge.get()).text, 'new')
})

test('a refresh that was in flight during a purge brings nothing back', async (t) => {
  for (const isSame of [true, false]) {
    const app: ServerResponse[] = []
    const edge = await cachedApp(t, (_, response) => app.push(response))
    const headers = { 'cache-control': 's-maxage=10, stale-while-revalidate=60', etag: '"one"' }
    const first = edge.get()
    await until(() => app.length === 1)
    send(app[0] as ServerResponse, headers, 'old')
    await first
    edge.pass(20)
    await edge.get()
    await until(() => app.length === 2)
    edge.purge({ environment: 'e1', paths: ['/'] })
    if (isSame) app[1]?.writeHead(304, headers).end()
    else send(app[1] as ServerResponse, headers, 'old as well')
    await until(() => app[1]?.writableFinished === true)
    await untilStill(() => app.length)
    const after = edge.get()
    await until(() => app.length === 3)
    send(app[2] as ServerResponse, headers, 'new')
    assert.equal((await after).text, 'new')
  }
})

test('a purge of something else affects neither what is stored nor what is being fetched', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const before = edge.get('/page')
  await until(() => app.length === 1)
  edge.purge({ environment: 'e1', paths: ['/other'], tags: ['other'] })
  send(app[0] as ServerResponse, MINUTE, 'body')
  await before
  assert.match(statusOf(await edge.get('/page')), /^hit/)
})

test('with another deployment everything of the old one is gone, including responses in flight', async (t) => {
  const old: ServerResponse[] = []
  const edge = await cachedApp(t, ({ url }, response) =>
    url === '/slow' ? old.push(response) : send(response, MINUTE, 'old'),
  )
  const next = await startUpstream(t, (_, response) => send(response, MINUTE, 'new'))
  await edge.get()
  const slow = edge.get('/slow')
  await until(() => old.length === 1)
  edge.use({ [HOST]: serverTarget(next.port, 'i2', 'd2') })
  assert.equal((await edge.get()).text, 'new')
  assert.equal((await edge.get('/slow')).text, 'new')
  send(old[0] as ServerResponse, MINUTE, 'old')
  assert.equal((await slow).text, 'old')
  assert.equal((await edge.get('/slow')).text, 'new')
  const { lastPurge } = await edge.inspect('e1', `http://${HOST}/`)
  assert.equal(lastPurge?.by, 'switch')

  edge.use({ [HOST]: serverTarget(edge.app.port) })
  const back = await edge.get()
  assert.equal(back.text, 'old')
  assert.equal(statusOf(back), 'fwd=uri-miss; stored', 'what the old one had stored does not come back with it')
})

test('a deployment that sleeps and is woken keeps its objects, and so does one that is started anew', async (t) => {
  const edge = await cachedApp(t, (_, response) => send(response, MINUTE, String(edge.asked.length)))
  await edge.get()
  edge.use({ [HOST]: { kind: 'asleep', environment: 'e1', deployment: 'd1' } })
  edge.use({ [HOST]: serverTarget(edge.app.port, 'i2') })
  edge.use({ [HOST]: { kind: 'down', environment: 'e1', deployment: 'd1' } })
  edge.use({ [HOST]: serverTarget(edge.app.port, 'i3'), 'second.localhost': serverTarget(edge.app.port, 'i3') })
  assert.equal((await edge.get()).text, '1')
  edge.use({ [HOST]: { kind: 'empty', environment: 'e1' } })
  edge.use({ [HOST]: serverTarget(edge.app.port, 'i4') })
  assert.equal((await edge.get()).text, '2', 'but not one that was gone meanwhile')
})

test('an environment that was gone has forgotten everything, and no request joins an earlier fetch', async (t) => {
  const app: ServerResponse[] = []
  const edge = await cachedApp(t, (_, response) => app.push(response))
  const before = edge.get()
  await until(() => app.length === 1)
  edge.use({})
  edge.use({ [HOST]: serverTarget(edge.app.port, 'i2') })
  const after = edge.get()
  await until(() => app.length === 2)
  send(app[0] as ServerResponse, MINUTE, 'old')
  assert.equal((await before).text, 'old')
  send(app[1] as ServerResponse, MINUTE, 'new')
  assert.equal((await after).text, 'new')
  assert.equal((await edge.get()).text, 'new')
})

test('an inspection shows the last purge that concerned a URL', async (t) => {
  const edge = await cachedApp(
    t,
    tagged(() => edge.asked.length),
  )
  const last = async (path: string) => (await edge.inspect('e1', `http://${HOST}${path}`)).lastPurge?.by
  assert.equal(await last('/a'), undefined)
  edge.purge({ environment: 'e1' })
  assert.equal(await last('/a'), 'all')
  edge.purge({ environment: 'e1', paths: ['/a'] })
  assert.deepEqual([await last('/a'), await last('/b')], ['path', 'all'])
  await edge.get('/a')
  edge.purge({ environment: 'e1', tags: ['all'] })
  await edge.get('/a')
  assert.deepEqual([await last('/a'), await last('/b')], ['tag', 'all'])
})

test('a purge by the longest list that there may be holds after a restart, and costs no other environment what it has', async (t) => {
  const app = await startUpstream(t, (_, response) =>
    send(response, { ...MINUTE, 'cache-tag': `${'x'.repeat(1000)}999` }),
  )
  const hosts = { [HOST]: serverTarget(app.port), [OTHER]: otherTarget(app.port) }
  const settings = { memoryBytes: 1e8, folder: await temporaryFolder(t), diskBytes: 1e8 }
  const before = await startTestEdge(t, hosts)
  await before.openCache(settings)
  for (const host of [HOST, OTHER]) await ask(before.port, { host })
  const tags = Array.from({ length: 1000 }, (_, n) => `${'x'.repeat(1000)}${n}`)
  assert.equal(before.purge({ environment: 'e1', tags }), true)
  await before.closeCache()

  const after = await startTestEdge(t, hosts)
  t.after(() => after.closeCache())
  await after.openCache(settings)
  assert.match(statusOf(await ask(after.port, { host: OTHER })), /^hit/, 'of another environment nothing went')
  assert.match(statusOf(await ask(after.port)), /^fwd=uri-miss/, 'what was purged is gone')
  assert.deepEqual(before.troubles, [])
})
