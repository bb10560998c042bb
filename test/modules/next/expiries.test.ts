/**
 * Pages that another process revalidated, or that were purged, in an app like one of Next.js. Its pages were rendered
 * 90 seconds ago.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openHooks, writeExpiries } from '../../../src/runtime/hooks.ts'
import { startApi, startApp } from '../../support/service/next-app.ts'

type Record = {
  began?: number
  ended?: number
  everything?: number
  isReplaced?: boolean
  tags?: { [tag: string]: number }
}

async function start(t: TestContext, record: Record) {
  const runFolder = await mkdtemp(join(tmpdir(), 'headland-expiries-'))
  t.after(() => rm(runFolder, { recursive: true }))
  const variables = { HEADLAND_NEXT_COHERENCE: 'on' }
  const expiries = async () => JSON.stringify(record)
  const node = process.versions.node
  const { options } = await openHooks({ node, variables, runFolder, isIsolating: false, expiries })
  const api = await startApi(t)
  const app = await startApp(t, api, { NODE_OPTIONS: options.join(' ') })
  const file = join(runFolder, 'hooks', 'next', 'expiries.json')
  return { api, app, file, write: (more: Record) => writeExpiries(runFolder, async () => JSON.stringify(more)) }
}

const ago = (seconds: number): number => Date.now() - seconds * 1000

test('a page that was revalidated before the process started is rendered again before it is served', async (t) => {
  const { app } = await start(t, { tags: { posts: ago(60) } })
  assert.equal((await app.get('/page?key=/old')).text, 'made anew')
  assert.equal((await app.get('/fetched')).text, 'new')
  assert.equal((await app.get('/used')).text, 'made anew')
  assert.equal((await app.get('/page?key=/old')).text, 'made anew', 'and once is enough')
})

test('a page that was rendered after its revalidation stays, and so does one with other tags', async (t) => {
  const { app } = await start(t, { tags: { posts: ago(120), other: ago(1) }, everything: ago(100) })
  assert.equal((await app.get('/page?key=/old')).text, 'made by the build')
  assert.equal((await app.get('/fetched')).text, 'old')
  assert.equal((await app.get('/used')).text, 'used')
})

test('a page is revalidated by its path, and by the path that was requested', async (t) => {
  for (const tag of ['_N_T_/old', '/page']) {
    const { app } = await start(t, { tags: { [tag]: ago(1) } })
    assert.equal((await app.get('/page?key=/old')).text, 'made anew', tag)
  }
})

test('revalidations that are recorded while the process runs apply from the next request on', async (t) => {
  const { app, write } = await start(t, {})
  assert.equal((await app.get('/page?key=/old')).text, 'made by the build')
  await write({ everything: Date.now() })
  assert.equal((await app.get('/page?key=/old')).text, 'made anew')
})

test('a page of the build counts as rendered when the build began, and is served while it is rendered again', async (t) => {
  const built = { began: ago(200), ended: ago(30) }
  const { app, write } = await start(t, { ...built, tags: { posts: ago(201) } })
  assert.equal((await app.get('/page?key=/old')).text, 'made by the build, long ago')
  assert.equal((await app.get('/fetched')).text, 'new', 'data is fetched at once')
  await write({ ...built, tags: { posts: ago(150) } })
  assert.equal((await app.get('/page?key=/old')).text, 'made anew')
})

test('data that Next.js writes again while it reads is not newer for that', async (t) => {
  const { app, write } = await start(t, {})
  assert.equal((await app.get('/fetched?tag=another')).text, 'old')
  await write({ tags: { posts: ago(60) } })
  assert.equal((await app.get('/fetched')).text, 'new')
})

test('if rendering again fails the old page is served, and no cache stores it', async (t) => {
  const { app, write } = await start(t, { everything: Date.now() })
  const { status, text, headers } = await app.get('/page?key=/old&fails')
  assert.deepEqual([status, text, headers['x-failed']], [200, 'made by the build', undefined])
  assert.match(String(headers['cache-control']), /no-store/)
  await write({})
  assert.equal((await app.get('/page?key=/old&fails')).headers['cache-control'], 's-maxage=3600')
})

test('a page that Next.js does not know without its entry is served once more, and rendered again in the background', async (t) => {
  const { app } = await start(t, { everything: Date.now() })
  const { status, text, headers } = await app.get('/page?key=/old&closed')
  assert.deepEqual([status, text], [200, 'made by the build, long ago'])
  assert.match(String(headers['cache-control']), /no-store/)
})

test('an error that is not caused by an expired page is passed on unchanged', async (t) => {
  const { app } = await start(t, { everything: Date.now() })
  const { status, text } = await app.get('/page?key=/never-made&fails')
  assert.deepEqual([status, text], [500, 'the CMS is down'])
  assert.equal((await app.get('/nowhere')).status, 404)
})

test('a visitor who asks for expired pages by a header gets the same as every other visitor', async (t) => {
  const { app } = await start(t, { everything: Date.now() })
  const claims = ['kept', ' kept', `${'0'.repeat(64)} kept`, `${'é'.repeat(64)} kept`, 'undefined refreshed']
  for (const claim of claims) {
    const { text } = await app.get('/page?key=/own-lifetime', { 'x-headland-expired': claim })
    assert.equal(text, 'made anew')
  }
})

test('pages that were missing at the build are tried again after a purge', async (t) => {
  const { app, write } = await start(t, { began: ago(200), ended: ago(100), tags: { '_N_T_/gone': ago(10) } })
  assert.equal((await app.get('/missing')).text, '/lost')
  await write({ began: ago(200), ended: ago(100), everything: ago(10) })
  assert.equal((await app.get('/missing')).text, '')
})

test('a revalidation has its time, and rendered pages are reported while a deployment is starting', async (t) => {
  const { app, api, write } = await start(t, {})
  const before = Date.now()
  await app.get('/revalidate?tag=posts')
  const time = api.calls[0]?.body.revalidated?.posts ?? 0
  assert.ok(time >= before && time <= Date.now())
  await app.get('/page?key=/new-one')
  await write({ isReplaced: true })
  const purged = api.next()
  await app.get('/page?key=/new-two')
  assert.deepEqual(await purged, [], 'the edge keeps what it has')
  assert.deepEqual(Object.keys(api.calls.at(-1)?.body.made ?? {}), ['_N_T_/new-two'])
})

test('a record that cannot be read leaves the app unchanged, and is reported once', async (t) => {
  const { app, file } = await start(t, {})
  await writeFile(file, '{')
  assert.equal((await app.get('/page?key=/old')).text, 'made by the build')
  assert.equal((await app.get('/page?key=/old')).text, 'made by the build')
  assert.match(app.output(), /^headland: revalidations may not reach the edge: SyntaxError: [^\n]*\n$/)
})
