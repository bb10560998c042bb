/** Small apps in processes of their own, with the hook loaded as for real apps, and a server that answers like a CMS. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { HOOK_FILES } from '../../../src/runtime/index.ts'
import { until } from '../../support/until.ts'

const APP = fileURLToPath(new URL('../../fixtures/content-app/server.cjs', import.meta.url))
const POSTS: Record<string, number> = { hello: 1, world: 2, third: 3 }

const postOf = (slug: string) => {
  const id = POSTS[slug] as number
  return { id, slug, type: 'post', title: { rendered: `Title ${id}` }, author: 7, categories: [5], featured_media: 0 }
}

function answerTo(url: URL): unknown {
  const slug = url.searchParams.get('slug')
  if (url.pathname === '/wp-json/wp/v2/posts') return slug ? [postOf(slug)] : Object.keys(POSTS).map(postOf)
  if (url.pathname === '/graphql')
    return { data: { post: { id: Buffer.from('post:2').toString('base64'), title: 'Two' } } }
  if (url.pathname === '/large')
    return [...Array(50_000).keys()].map((id) => ({ id, text: 'a text of some length, many times' }))
  if (url.pathname === '/settings' || url.pathname === '/me') return { title: 'Site' }
  return undefined
}

let cms: string
/** Requests for settings wait for it. */
let gate = Promise.resolve()

before(async () => {
  const server = http.createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://cms')
    if (url.pathname === '/settings') await gate
    if (url.pathname === '/image') return void response.writeHead(200, { 'content-type': 'image/png' }).end('bytes')
    if (url.pathname === '/slow') return void response.writeHead(200, { 'content-type': 'application/json' }).write('[')
    const value = answerTo(url)
    const text = JSON.stringify(value ?? {})
    const isPacked = request.headers['accept-encoding'] === 'gzip'
    response.writeHead(value === undefined ? 500 : 200, {
      'content-type': 'application/json',
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
    })
    response.end(isPacked ? gzipSync(text) : text)
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  cms = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

type Answer = { text: string; words: string; trailer: string | undefined; res: IncomingMessage }
type App = { get(path: string, headers?: Record<string, string>): Promise<Answer>; output(): string }

async function start(t: TestContext, kind: string, env: Record<string, string> = {}): Promise<App> {
  const options = {
    NODE_OPTIONS: `--require=${join(HOOK_FILES.from, 'content/content.cjs')}`,
    HEADLAND_CONTENT_TAGS: 'on',
    CMS_URL: cms,
    ...env,
  }
  const child: ChildProcess = spawn(process.execPath, [APP, kind], { env: options, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(async () => {
    if (child.exitCode !== null || !child.kill()) return
    await once(child, 'exit')
  })
  let output = ''
  child.stderr?.on('data', (chunk) => {
    output += chunk
  })
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data')
  const agent = new http.Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  return {
    output: () => output,
    async get(path, headers = {}) {
      const request = http.get({ host: '127.0.0.1', port: Number(line), path, headers, agent })
      const [res] = (await once(request, 'response')) as [IncomingMessage]
      let text = ''
      for await (const chunk of res) text += chunk
      const words = String(res.headers['x-headland-content'])
      return { text, words, trailer: res.trailers['x-headland-content'], res }
    },
  }
}

/** The final words of a page, once the app has proved that it keeps nothing. */
async function wordsOf(app: App, path: string): Promise<string> {
  let words = ''
  await until(async () => {
    const answer = await app.get(path)
    words = answer.trailer ?? answer.words
    return !words.endsWith('checking')
  })
  return words
}

const HELLO = '1;i:wp:post:1 i:wp:user:7 i:wp:term:5'

test('an answer names the items, lists and URLs that it is made of, whatever way it is fetched and sent', async (t) => {
  const app = await start(t, 'plain')
  const first = await app.get('/post/hello')
  assert.equal(first.words, '1;unsure checking')
  assert.equal(first.text, 'Site: Title 1')
  const words = await wordsOf(app, '/post/hello')
  assert.match(words, /^1;u:[0-9a-f]{16} i:wp:post:1 i:wp:user:7 i:wp:term:5$/)
  assert.equal(
    (await app.get('/post/world')).words,
    words.replace('post:1', 'post:2'),
    'one proof is enough for a kind of page',
  )
  assert.match(await wordsOf(app, '/list'), /i:wp:post:1 .*i:wp:post:3 .*c:wp:post/)
  for (const way of ['http', 'length']) assert.equal(await wordsOf(app, `/${way}/hello`), HELLO, way)
  assert.equal(await wordsOf(app, '/graphql/world'), '1;i:wp:post:2 i:wp:media:2')
  await wordsOf(app, '/stream/hello')
  const streamed = await app.get('/stream/hello')
  assert.deepEqual([streamed.words, streamed.trailer, streamed.text], ['1;pending', HELLO, 'first Title 1'])
  await wordsOf(app, '/head/hello')
  const { res, words: ofHead } = await app.get('/head/hello')
  assert.deepEqual([ofHead, res.headers['set-cookie']], [HELLO, ['a=1', 'b=2']])
  assert.equal(await wordsOf(app, '/large'), '1;all', 'more than is read')
  assert.equal(app.output(), '')
})

test('each kind of page is tried: one may keep what another fetches', async (t) => {
  const app = await start(t, 'mixed')
  assert.match(await wordsOf(app, '/fresh/hello'), /i:wp:post:1/)
  assert.equal(await wordsOf(app, '/post/world'), '1;unsure app-keeps')
  assert.equal((await app.get('/fresh/hello')).words, '1;unsure app-keeps')
})

test('concurrent requests over kept connections get their own tags', async (t) => {
  const app = await start(t, 'plain')
  await wordsOf(app, '/post/hello')
  const slugs = Array.from({ length: 30 }, (_, at) => Object.keys(POSTS)[at % 3] as string)
  const answers = await Promise.all(slugs.map((slug) => app.get(`/post/${slug}`)))
  answers.forEach(({ words }, at) => {
    assert.match(words, new RegExp(` i:wp:post:${POSTS[slugs[at] as string]} `))
    assert.equal(words.match(/i:wp:post/g)?.length, 1)
  })
})

test('what is not known for sure is not kept: failed, unread and missing fetches, pieces of a length', async (t) => {
  const app = await start(t, 'plain')
  await wordsOf(app, '/post/hello')
  assert.equal((await app.get('/broken')).words, '1;unsure failed-fetch')
  assert.equal((await app.get('/health')).words, '1;unsure nothing-fetched')
  assert.equal((await app.get('/pieces/hello')).words, '1;unsure length')
  assert.equal((await app.get('/unread')).words, '1;unsure unfinished')
})

test('answers to visitors with cookies are not described, and what is fetched for one of them alone needs no proof', async (t) => {
  const app = await start(t, 'plain')
  await wordsOf(app, '/post/hello')
  const { words } = await app.get('/me', { cookie: 'session=0123456789' })
  assert.equal(words, 'undefined')
  assert.match((await app.get('/post/hello')).words, /i:wp:post:1/)
})

test('reports that are not waited for, and files, do not count as content that is kept', async (t) => {
  const app = await start(t, 'plain')
  assert.equal(await wordsOf(app, '/report/hello'), HELLO)
  assert.match(await wordsOf(app, '/image/hello'), /^1;.*i:wp:post:1/)
  for (const path of ['/report/world', '/image/world']) assert.match((await app.get(path)).words, /^1;i:wp:post:2/)
})

test('a request is let go when it is answered, although the app holds what it has made for it', async (t) => {
  const app = await start(t, 'plain', {
    NODE_OPTIONS: `--expose-gc --require=${join(HOOK_FILES.from, 'content/content.cjs')}`,
  })
  await wordsOf(app, '/held/hello')
  for (let at = 0; at < 10; at++) await app.get('/held/hello')
  const [held, living] = (await app.get('/released')).text.split(' ').map(Number)
  assert.ok(Number(held) > 10)
  // The last one of a connection may be in use until the next one has come.
  assert.ok(Number(living) <= 2, `${living} of ${held} are alive`)
})

test('the app sees neither the field nor the probes', async (t) => {
  const app = await start(t, 'plain')
  await wordsOf(app, '/post/hello')
  assert.doesNotMatch((await app.get('/fields')).text, /headland/)
})

for (const [kind, reason] of Object.entries({
  map: 'app-keeps',
  seconds: 'app-keeps',
  promise: 'app-keeps',
  refresh: 'app-keeps',
  start: 'fetched-outside',
  after: 'fetched-outside',
  thread: 'other-thread',
  program: 'other-program',
  socket: 'other-source',
}))
  test(`no page of an app is kept that has content from elsewhere: ${kind}`, async (t) => {
    const app = await start(t, kind)
    await app.get('/post/hello')
    let words = ''
    await until(async () => {
      words = (await app.get('/post/world')).words
      assert.match(words, /^1;unsure /)
      return words === `1;unsure ${reason}`
    })
    assert.equal((await app.get('/list')).words, words)
  })

test('a page that waits for what another request fetches is not kept before the proof is there', async (t) => {
  const app = await start(t, 'promise')
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  const answers = ['hello', 'world', 'third'].map((slug) => app.get(`/post/${slug}`))
  await new Promise(setImmediate)
  resolve()
  for (const { words } of await Promise.all(answers)) assert.match(words, /^1;unsure /)
})

test('a fetch that waited in the queue of a pool is not missed', async (t) => {
  const app = await start(t, 'queue')
  await wordsOf(app, '/list')
  await wordsOf(app, '/post/hello')
  const slugs = Object.keys(POSTS).flatMap((slug) => Array.from({ length: 10 }, () => slug))
  for (const { words, text } of await Promise.all(slugs.map((slug) => app.get(`/post/${slug}`)))) {
    const id = /Title (\d)/.exec(text)?.[1]
    if (!words.startsWith('1;unsure')) assert.match(words, new RegExp(`i:wp:post:${id} .*|u:`))
    if (!words.startsWith('1;unsure')) assert.match(words, /u:/)
  }
})

test('without the variable nothing is loaded', async (t) => {
  const app = await start(t, 'plain', { HEADLAND_CONTENT_TAGS: 'off' })
  assert.equal((await app.get('/post/hello')).words, 'undefined')
})
