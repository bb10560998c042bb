import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ask, HOST, serverTarget, startTestEdge, startUpstream } from '../../test/support/edge/edge.ts'
import { createPaths } from './paths.ts'

const LIMITS = { pathsOfList: 10, pathsOfAll: 40, pathLength: 20 }

test('paths are counted without their query, those that are missing apart, and what pages load is left out', async () => {
  const paths = createPaths()
  paths.count('e', '/news?token=secret', 200)
  paths.count('e', '/news', 304)
  paths.count('e', '/old?x', 404)
  paths.count('e', '/old.png', 410)
  for (const target of ['/_next/static/a.js', '/logo.PNG?v=1', '/style.css', '/_next/image?url=x']) {
    paths.count('e', target, 200)
  }
  for (const status of [0, 101, 301, 308, 403, 500, 503]) paths.count('e', '/other', status)
  paths.count('e', '/a.b/page', 200)
  paths.count('other', '/', 200)
  assert.deepEqual(Object.fromEntries(paths.take()), {
    e: {
      found: [
        ['/news', 2],
        ['/a.b/page', 1],
      ],
      missing: [
        ['/old', 1],
        ['/old.png', 1],
      ],
    },
    other: { found: [['/', 1]], missing: [] },
  })
  assert.equal(paths.take().size, 0)
})

test('a flood of paths that are asked for once fills no list, and those that are asked for often stay', () => {
  const paths = createPaths(LIMITS)
  for (let round = 0; round < 10_000; round++) {
    paths.count('e', `/random-${round}`, 404)
    if (round % 4 === 0) paths.count('e', '/popular', 404)
    for (let other = 0; other < 3; other++) paths.count(`e${other}`, `/random-${round}`, 200)
  }
  const taken = paths.take()
  const missing = new Map(taken.get('e')?.missing)
  const asked = 2500
  // What a summary may lose: one of `pathsOfList + 1` requests.
  const min = asked - (10_000 + asked) / (LIMITS.pathsOfList + 1)
  assert.ok((missing.get('/popular') ?? 0) >= min && (missing.get('/popular') ?? 0) <= asked)
  const sizes = [...taken.values()].map(({ found, missing }) => [found.length, missing.length])
  assert.ok(sizes.flat().every((size) => size <= LIMITS.pathsOfList))
  assert.ok(sizes.flat().reduce((sum, size) => sum + size) <= LIMITS.pathsOfAll)
})

test('many environments share one limit', () => {
  const paths = createPaths(LIMITS)
  for (let round = 0; round < 20_000; round++) paths.count(`e${round % 100}`, `/page-${round}`, 200)
  const entries = [...paths.take().values()].flatMap(({ found }) => found)
  assert.ok(entries.length <= LIMITS.pathsOfAll)
})

test('a long path is cut, and what is kept of a request is its path and not all that came with it', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const paths = createPaths({ pathsOfList: 2000, pathsOfAll: 2000, pathLength: 200 })
  paths.count('long', `/${'a'.repeat(5000)}?q`, 200)
  assert.deepEqual(paths.take().get('long')?.found, [[`/${'a'.repeat(199)}…`, 1]])
  collect()
  const before = process.memoryUsage().heapUsed
  for (let round = 0; round < 1000; round++) {
    // As the fast path cuts a target out of the bytes of its request.
    const head = Buffer.alloc(15_000, `/page-${round}-`).toString('latin1')
    paths.count('e', head.slice(0, 100), 200)
  }
  collect()
  const grownBytes = process.memoryUsage().heapUsed - before
  assert.ok(grownBytes < 5_000_000, `${grownBytes} bytes for 1,000 paths`)
  assert.equal(paths.take().get('e')?.found.length, 1000)
})

for (const hasFastPath of [true, false]) {
  test(`an edge reports status classes and paths, ${hasFastPath ? 'with the fast path' : 'by node:http alone'}`, async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      response.statusCode = Number(/^\/(\d+)/.exec(request.url ?? '')?.[1] ?? 200)
      response.setHeader('cache-control', 's-maxage=60')
      response.end('x')
    })
    const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) }, { hasFastPath })
    const visit = async (path: string, times: number) => {
      for (let time = 0; time < times; time++) await ask(edge.port, { path, headers: { connection: 'keep-alive' } })
    }
    await visit('/before', 1)
    assert.equal(edge.takeCounts()?.e1?.paths, undefined, 'not unless it is asked to')
    edge.countPaths()
    await visit('/a?x=1', 3)
    await visit('/404', 2)
    await visit('/301', 1)
    await visit('/500', 1)
    const { requests, errors, statuses, paths } = edge.takeCounts()?.e1 ?? {}
    assert.deepEqual({ requests, errors, statuses }, { requests: 7, errors: 1, statuses: [3, 1, 2] })
    assert.deepEqual(paths, { found: [['/a', 3]], missing: [['/404', 2]] })
  })
}
