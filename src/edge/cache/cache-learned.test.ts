/** Pages that say what they are made of, where the operator has them kept. */
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { cachedApp, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, HOST, serverTarget, startTestEdge, startUpstream } from '../../../test/support/edge/edge.ts'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import type { Target } from '../routes.ts'

const learned = (port: number, maxAgeSeconds = 600): Target =>
  ({ ...serverTarget(port), learned: { maxAgeSeconds } }) as Target

/** Answers with how many it was asked for. Headers, and a trailer, by what the query names. */
function app(): RequestListener {
  let count = 0
  return (request, response) => {
    const query = new URL(request.url ?? '/', 'http://x').searchParams
    response.setHeader('content-type', 'text/html')
    response.setHeader('x-seen', request.headers['x-headland-content'] ?? 'nothing')
    for (const [name, value] of query) if (name.includes('-')) response.setHeader(name, value)
    const trailer = query.get('trailer')
    if (query.has('content')) response.setHeader('x-headland-content', query.get('content') ?? '')
    response.write(`${++count} `)
    if (trailer !== null) response.addTrailers({ 'X-Headland-Content': trailer })
    response.end('end')
  }
}

async function open(t: Scope) {
  const edge = await cachedApp(t, app())
  edge.use({ [HOST]: learned(edge.app.port) })
  return edge
}

const PAGE = '/?content=1;i:wp:post:1'

test('a page that says what it is made of is kept for as long as the operator says', async (t) => {
  const edge = await open(t)
  const first = await edge.get(PAGE)
  assert.equal(statusOf(first), 'fwd=uri-miss; stored')
  assert.equal(statusOf(await edge.get(PAGE)), 'hit; ttl=600')
  edge.pass(599)
  assert.equal((await edge.get(PAGE)).text, first.text)
  edge.pass(2)
  assert.match(statusOf(await edge.get(PAGE)), /^fwd=stale/)
})

test('the header reaches neither visitors nor, from them, the app, whether or not pages are kept', async (t) => {
  const edge = await open(t)
  for (const target of [learned(edge.app.port), serverTarget(edge.app.port)]) {
    edge.use({ [HOST]: target })
    for (const path of [
      PAGE,
      PAGE,
      `${PAGE}&cache-control=s-maxage%3D60`,
      '/?content=1;pending&trailer=1;all',
      `${PAGE}&set-cookie=a`,
    ]) {
      const answer = await edge.get(path, { 'x-headland-content': '1;none', X_Headland_Content: '1;none' })
      assert.equal(answer.headers['x-headland-content'], undefined, path)
      assert.equal(answer.headers['x-seen'], 'nothing')
    }
    const posted = await ask(edge.port, { path: PAGE, method: 'POST' })
    assert.equal(posted.headers['x-headland-content'], undefined)
  }
})

test('an environment without the setting keeps nothing of it', async (t) => {
  const edge = await open(t)
  edge.use({ [HOST]: serverTarget(edge.app.port) })
  for (const path of [PAGE, '/?content=1;pending&trailer=1;all']) {
    await edge.get(path)
    assert.equal(statusOf(await edge.get(path)), 'fwd=uri-miss; detail=no-lifetime')
  }
})

test('a request with a cookie or credentials gets a page of its own, before and after it is kept', async (t) => {
  const edge = await open(t)
  const personal = [{ cookie: 'session=1' }, { authorization: 'Basic YTpi' }]
  for (const headers of personal)
    assert.match(statusOf(await edge.get(PAGE, headers)), /detail=(?:cookie|authorization)$/)
  const { text } = await edge.get(PAGE)
  for (const headers of personal) assert.notEqual((await edge.get(PAGE, headers)).text, text)
  assert.equal((await edge.get(PAGE)).text, text)
})

test('a streamed page is kept once its list has come, and not without one', async (t) => {
  const edge = await open(t)
  const path = '/?content=1;pending&trailer=1;i:wp:post:1'
  assert.equal(statusOf(await edge.get(path)), 'fwd=uri-miss; detail=content-pending')
  assert.equal(statusOf(await edge.get(path)), 'hit; ttl=600')
  edge.purge({ environment: 'e1', tags: ['content:i:wp:post:1'] })
  assert.equal(statusOf(await edge.get(path)), 'fwd=uri-miss; detail=content-pending')
  for (const trailer of ['', '&trailer=1;unsure', '&trailer=1;pending', '&trailer=nonsense']) {
    await edge.get(`/?content=1;pending${trailer}`)
    assert.equal(statusOf(await edge.get(`/?content=1;pending${trailer}`)), 'fwd=uri-miss; detail=content-pending')
  }
})

test('a change of content finds what the app itself allows to keep, too', async (t) => {
  const edge = await open(t)
  const allowed = '/?cache-control=s-maxage%3D900'
  await edge.get(allowed)
  assert.equal(statusOf(await edge.get(allowed)), 'hit; ttl=900')
  edge.purge({ environment: 'e1', tags: ['content:all'] })
  assert.match(statusOf(await edge.get(allowed)), /^fwd=uri-miss/)
})

test('with the setting switched on, off or changed, what was kept before is not used', async (t) => {
  const edge = await open(t)
  const { port } = edge.app
  const allowed = '/?cache-control=s-maxage%3D900'
  edge.use({ [HOST]: serverTarget(port) })
  await edge.get(allowed)
  for (const target of [learned(port), learned(port, 60), serverTarget(port)]) {
    edge.use({ [HOST]: target })
    assert.match(statusOf(await edge.get(allowed)), /^fwd=uri-miss/)
    await edge.get(PAGE)
    edge.use({ [HOST]: target })
    assert.match(statusOf(await edge.get(allowed)), /^hit/)
  }
})

test('after a restart, what was stored before the setting was on is not used, and what was kept since is', async (t) => {
  const folder = join(await temporaryFolder(t), 'cache')
  const { port } = await startUpstream(t, app())
  const during = async (target: Target, path: string) => {
    const edge = await startTestEdge(t, {})
    await edge.openCache({ memoryBytes: 1e8, folder, diskBytes: 1e8 })
    edge.use({ [HOST]: target })
    const answer = await ask(edge.port, { path })
    await edge.closeCache()
    return statusOf(answer)
  }
  const allowed = '/?cache-control=s-maxage%3D900'
  assert.match(await during(serverTarget(port), allowed), /stored/)
  assert.match(await during(serverTarget(port), allowed), /^hit/)
  assert.match(await during(learned(port), allowed), /^fwd=uri-miss; stored/)
  assert.match(await during(learned(port), allowed), /^hit/)
})
