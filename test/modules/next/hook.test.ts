/** Apps like those of Next.js in a process of their own, with the hook loaded as for real apps. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openHooks } from '../../../src/runtime/hooks.ts'
import { startApi, startApp } from '../../support/service/next-app.ts'

const TAGS = 'x-next-cache-tags'

async function start(t: TestContext, more?: Record<string, string>) {
  const api = await startApi(t)
  return { api, app: await startApp(t, api, more) }
}

test('a page carries its tags, the tag of its path and its age', async (t) => {
  const { app } = await start(t)
  const { headers, text } = await app.get('/old')
  assert.equal(text, 'made by the build')
  assert.equal(headers[TAGS], '_N_T_/layout,_N_T_/old,posts')
  assert.ok(Number(headers.age) >= 90)
})

test('concurrent requests for the same page all get its tags', async (t) => {
  const { app } = await start(t)
  const answers = await Promise.all(Array.from({ length: 5 }, () => app.get('/old')))
  for (const { headers } of answers) assert.equal(headers[TAGS], '_N_T_/layout,_N_T_/old,posts')
})

test('a lifetime that the app has set begins with the response, so there is no age', async (t) => {
  const { app } = await start(t)
  const { headers } = await app.get('/own-lifetime')
  assert.equal(headers[TAGS], 'posts,_N_T_/own-lifetime')
  assert.equal(headers.age, undefined)
})

test('a page that is rendered again before it is sent has no age', async (t) => {
  const { app } = await start(t)
  const { headers } = await app.get('/expired')
  assert.equal(headers.age, undefined)
  assert.match(String(headers[TAGS]), /_N_T_\/old/)
})

test('tags that are too many for a header become one tag that every purge includes', async (t) => {
  const { app, api } = await start(t)
  const { headers } = await app.get('/many')
  assert.equal(headers[TAGS], 'headland-too-many-tags,_N_T_/many')
  await app.get('/revalidate?tag=post-7')
  assert.deepEqual(api.calls[0]?.entries, ['headland-too-many-tags', 'post-7'])
})

test('tags in any script are the same in answers and in purges', async (t) => {
  const { app, api } = await start(t)
  const { headers } = await app.get('/odd')
  const [books = '', book = '', plain] = String(headers[TAGS]).split(',')
  assert.equal(plain, 'a tag')
  await app.get(`/revalidate?tag=${encodeURIComponent('Bücher')}&tag=${encodeURIComponent('本')}`)
  assert.deepEqual(api.calls[0]?.entries.slice(1), [books, book])
})

test('data that was fetched with tags passes them to responses that may be stored, and not to private ones', async (t) => {
  const { app } = await start(t)
  const kept = await app.get('/data?cache-control=public,s-maxage=9')
  assert.equal(kept.headers[TAGS], 'posts,_N_T_/data')
  const personal = await app.get('/data?cache-control=private,no-store')
  assert.equal(personal.headers[TAGS], undefined)
})

test('a revalidation is sent to the edge after the handler has run, and answered when the edge has purged', async (t) => {
  const { app, api } = await start(t)
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  api.gate = gate
  const purged = api.next()
  let isAnswered = false
  const answered = app.get('/revalidate?tag=posts&tag=_N_T_/blog/one&tag=_N_T_/blog/[slug]/page').then((answer) => {
    isAnswered = true
    return answer
  })
  assert.deepEqual(await purged, [
    'headland-too-many-tags',
    'posts',
    '_N_T_/blog/one',
    '/blog/one',
    '_N_T_/blog/[slug]/page',
  ])
  const { text } = await app.get('/revalidated')
  assert.equal(text, 'posts _N_T_/blog/one _N_T_/blog/[slug]/page', 'other requests are not delayed')
  assert.equal(isAnswered, false)
  open()
  assert.equal((await answered).text, 'revalidated for good')
  const [call] = api.calls
  assert.equal(call?.path, '/envs/an-environment/edge/cache/tags:purge')
  assert.equal(call?.authorization, 'Bearer a-token')
})

test('a revalidation is sent even if the handler fails', async (t) => {
  const { app, api } = await start(t)
  assert.equal((await app.get('/revalidate?tag=fails')).status, 200)
  assert.deepEqual(api.calls[0]?.entries, ['headland-too-many-tags', 'fails'])
})

test('an API that fails delays the response only for a while, and is called again', async (t) => {
  const { app, api } = await start(t)
  api.status = 503
  const { status } = await app.get('/revalidate?tag=posts')
  assert.equal(status, 200)
  assert.match(app.output(), /^headland: the edge could not be purged, which is retried: .* 503\n$/)
  api.status = 200
  assert.deepEqual(await api.next(), ['headland-too-many-tags', 'posts'])
})

test('a handler whose functions are own properties is patched as well', async (t) => {
  const api = await startApi(t)
  const app = await startApp(t, api, {}, 'functions')
  assert.equal((await app.get('/old')).headers[TAGS], '_N_T_/layout,_N_T_/old,posts')
  await app.get('/revalidate?tag=posts')
  assert.deepEqual(api.calls[0]?.entries, ['headland-too-many-tags', 'posts'])
})

test('bytes that a handler stored as JSON become bytes again', async (t) => {
  const { app } = await start(t)
  assert.equal((await app.get('/json')).text, 'bytes')
})

test('a call that the API refuses is not made again', async (t) => {
  const { app, api } = await start(t)
  api.status = 401
  assert.equal((await app.get('/revalidate?tag=posts')).status, 200)
  assert.match(app.output(), /^headland: the edge keeps 2 changed entries until they expire: the API answered 401\n$/)
  assert.equal(api.calls.length, 1)
})

test('a handler that never ends does not delay the response for ever', async (t) => {
  const { app } = await start(t)
  assert.equal((await app.get('/revalidate?tag=hangs')).status, 200)
})

test('a page that is revalidated on demand is purged from the edge before the response', async (t) => {
  const { app, api } = await start(t)
  const { headers } = await app.get('/on-demand?key=/route-cache/PAGES/0a1b/$/posts/one')
  assert.deepEqual(api.calls[0]?.entries, ['headland-too-many-tags', '_N_T_/posts/one', '/posts/one'])
  assert.equal(headers[TAGS], undefined)
})

test('a page that was rendered again behind a stale response is reported, and one that was rendered for the first time is not', async (t) => {
  const { app, api } = await start(t)
  const purged = api.next()
  await app.get('/first')
  await app.get('/stale')
  assert.deepEqual(await purged, ['_N_T_/old'])
})

test('switched off, or without the API, nothing is changed', async (t) => {
  for (const more of [{ HEADLAND_NEXT_COHERENCE: 'off' }, { HEADLESS_APPS_API_TOKEN: '' }]) {
    const { app, api } = await start(t, more)
    const { headers } = await app.get('/old')
    assert.deepEqual([headers[TAGS], headers.age], [undefined, undefined])
    await app.get('/revalidate?tag=posts')
    assert.deepEqual([api.calls, app.output()], [[], ''])
  }
})

test('an unexpected kind of cache leaves the app unchanged, and is reported once', async (t) => {
  const { app } = await start(t)
  assert.equal((await app.get('/strange')).text, 'still here')
  assert.equal((await app.get('/strange')).text, 'still here')
  assert.equal((await app.get('/frozen')).text, 'made by the build')
  assert.equal(app.output(), 'headland: revalidations may not reach the edge: Error: not a class\n')
})

test('an invalid address is reported, and the app runs', async (t) => {
  const { app } = await start(t, { HEADLESS_APPS_API_URL_ADDRESS: 'nowhere' })
  assert.equal((await app.get('/old')).text, 'made by the build')
  assert.match(app.output(), /^headland: revalidations do not reach the edge: TypeError: Invalid URL\n$/)
})

test('without a sandbox Node loads the file from its own folder, even if that has a space in its name', async (t) => {
  const runFolder = await mkdtemp(join(tmpdir(), 'headland hooks-'))
  t.after(() => rm(runFolder, { recursive: true }))
  const { mounts, options } = await openHooks({
    node: process.versions.node,
    variables: { HEADLAND_NEXT_COHERENCE: 'on' },
    runFolder,
    isIsolating: false,
  })
  assert.deepEqual(mounts, [])
  const api = await startApi(t)
  const app = await startApp(t, api, { NODE_OPTIONS: options.join(' ') })
  assert.equal((await app.get('/old')).headers[TAGS], '_N_T_/layout,_N_T_/old,posts')
})
