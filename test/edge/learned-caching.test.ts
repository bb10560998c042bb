/**
 * Content is edited at random, and the edge is told what changed, as a webhook does. After each edit every page at the edge is
 * what a render from scratch gives. The hook of the service is loaded with the app, and learns what pages are made of.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { purgeTagsOf, readPayload } from '../../src/content/index.ts'
import type { Target } from '../../src/edge/routes.ts'
import { ask, HOST, serverTarget, startTestEdge, type TestEdge } from '../support/edge/edge.ts'
import { type Post, startTestCms, type TestCms } from '../support/edge/test-cms.ts'
import type { Scope } from '../support/folder.ts'
import { holds } from '../support/fuzz.ts'
import { until } from '../support/until.ts'

const APP = join(import.meta.dirname, '../fixtures/learned-app.ts')
const HOOK = join(import.meta.dirname, '../../src/runtime/hooks/content/content.cjs')
const POSTS = 8
const [TERMS, USERS] = [3, 2]

async function startApp(t: Scope, cms: TestCms): Promise<number> {
  const app = spawn(process.execPath, ['--require', HOOK, APP], {
    env: { ...process.env, CMS_URL: cms.url, PORT: '0', HEADLAND_CONTENT_TAGS: 'on' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => app.kill())
  const [line] = await once(app.stdout, 'data')
  return Number(/listening on (\d+)/.exec(String(line))?.[1])
}

const learned = (port: number): Target => ({ ...serverTarget(port), learned: { maxAgeSeconds: 3600 } }) as Target

const PATHS = [
  '/',
  '/list/post',
  '/list/page?streamed',
  ...range(POSTS + 2).map((id) => `/post/${id}${id % 2 ? '' : '?streamed'}`),
  ...range(TERMS).map((id) => `/category/${id}`),
  ...range(USERS).map((id) => `/author/${id}?streamed`),
]

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

function fill(cms: TestCms) {
  cms.title = 'Site'
  cms.posts.clear()
  for (const id of range(POSTS)) {
    const type = id % 3 ? 'post' : 'page'
    const categories = [(id % TERMS) + 1]
    cms.posts.set(id, { id, type, title: `Title ${id}`, author: (id % USERS) + 1, categories, isPublished: true })
  }
  for (const id of range(TERMS)) cms.terms.set(id, `Term ${id}`)
  for (const id of range(USERS)) cms.users.set(id, `User ${id}`)
}

type Edit =
  | { kind: 'title' | 'publish' | 'author' | 'category' | 'add'; id: number; to: number }
  | { kind: 'term' | 'user'; id: number; to: number }
  | { kind: 'site'; to: number }

/** Makes an edit. Returns the body of the call that the plugin for WordPress makes for it. */
function apply(cms: TestCms, edit: Edit, count: number): unknown {
  if (edit.kind === 'site') {
    cms.title = `Site ${count}`
    return {}
  }
  if (edit.kind === 'term') {
    cms.terms.set((edit.id % TERMS) + 1, `Term ${count}`)
    return named(`wp:term:${(edit.id % TERMS) + 1}@category`)
  }
  if (edit.kind === 'user') {
    cms.users.set((edit.id % USERS) + 1, `User ${count}`)
    return named(`wp:user:${(edit.id % USERS) + 1}`)
  }
  const id = edit.kind === 'add' ? POSTS + 1 + (edit.id % 2) : (edit.id % POSTS) + 1
  const fresh: Post = { id, type: 'post', title: `New ${count}`, author: 1, categories: [1], isPublished: true }
  const before = cms.posts.get(id)
  const after = { ...(before ?? fresh) }
  const also: string[] = []
  if (edit.kind === 'title' || edit.kind === 'add') after.title = `Title ${count}`
  if (edit.kind === 'publish') after.isPublished = !after.isPublished
  if (edit.kind === 'author') {
    after.author = (edit.to % USERS) + 1
    also.push(`wp:user:${after.author}`, `wp:user:${before?.author}`)
  }
  if (edit.kind === 'category') {
    after.categories = [(edit.to % TERMS) + 1]
    also.push(...[...after.categories, ...(before?.categories ?? [])].map((term) => `wp:term:${term}@category`))
  }
  cms.posts.set(id, after)
  return named(`wp:post:${id}@${after.type}`, ...also)
}

const named = (...content: string[]) => ({ headland: 1, content })

/** Where pages are not kept by now, the app is asked again until it has proven how it gets its content. */
async function warm(edge: TestEdge): Promise<void> {
  await until(async () => {
    const kept: boolean[] = []
    for (const path of PATHS) kept.push((await ask(edge.port, { path })).headers.age !== undefined)
    return kept.every(Boolean)
  })
}

function call(edge: TestEdge, body: unknown) {
  const changed = readPayload(Buffer.from(JSON.stringify(body)))
  edge.purge({ environment: 'e1', ...(changed === 'everything' ? {} : { tags: purgeTagsOf(changed) }) })
}

const edits = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom('title', 'title', 'publish', 'author', 'category', 'add', 'term', 'user'),
      id: fc.nat(50),
      to: fc.nat(5),
    }),
    fc.record({ kind: fc.constant('site'), to: fc.nat(5) }),
  ) as fc.Arbitrary<Edit>,
  { minLength: 3, maxLength: 10 },
)

test('after each of many edits, every page is what a render from scratch gives', async (t) => {
  const cms = await startTestCms(t)
  fill(cms)
  const port = await startApp(t, cms)
  const edge = await startTestEdge(t, { [HOST]: learned(port) })
  let [hits, asked, count] = [0, 0, 0]
  await warm(edge)
  await holds(
    fc.asyncProperty(edits, async (list) => {
      fill(cms)
      edge.purge({ environment: 'e1' })
      for (const edit of list) {
        // Some pages are on their way while the edit is made.
        const under = PATHS.slice(0, 4).map((path) => ask(edge.port, { path }))
        call(edge, apply(cms, edit, ++count))
        await Promise.all(under)
        for (const path of PATHS) {
          const [kept, fresh] = await Promise.all([ask(edge.port, { path }), ask(port, { path })])
          assert.equal(kept.text, fresh.text, `${path} after ${JSON.stringify(edit)}`)
          assert.equal(kept.status, fresh.status)
          assert.equal(kept.headers['x-headland-content'], undefined)
          asked++
          if (kept.headers.age !== undefined) hits++
        }
      }
    }),
    6,
  )
  // Most pages of most edits stay: if nothing was kept, the comparison would show nothing.
  assert.ok(hits > asked / 4, `${hits} of ${asked} answers were kept`)
})

test('an edited post is fetched again by the pages that show it and the lists it may be in, and by no others', async (t) => {
  const cms = await startTestCms(t)
  fill(cms)
  const edge = await startTestEdge(t, { [HOST]: learned(await startApp(t, cms)) })
  const missed = async () => {
    const found: string[] = []
    for (const path of PATHS) if ((await ask(edge.port, { path })).headers.age === undefined) found.push(path)
    return found
  }
  await warm(edge)
  assert.deepEqual(await missed(), [])
  call(edge, apply(cms, { kind: 'title', id: 3, to: 0 }, 1))
  // Post 4 is of the type post: the home page, its own page, lists of posts, and where nothing was found, which names no item.
  const lists = [
    '/',
    '/list/post',
    '/category/1',
    '/category/2',
    '/category/3',
    '/author/1?streamed',
    '/author/2?streamed',
  ]
  assert.deepEqual(new Set(await missed()), new Set(['/post/4?streamed', '/post/9', '/post/10?streamed', ...lists]))
  call(edge, apply(cms, { kind: 'site', to: 0 }, 2))
  assert.deepEqual(await missed(), PATHS)
})
