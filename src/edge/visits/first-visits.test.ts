import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, HOST, serverTarget, startTestEdge, startUpstream } from '../../../test/support/edge/edge.ts'
import type { Routed } from '../routes.ts'
import { createFirstVisits, FIRST_VISIT_LIMITS, isPageIn, isPageWire } from './first-visits.ts'

const site = (deployment: string): Routed => ({
  ...{ kind: 'static', environment: 'e1', deployment },
  ...{ folder: '/f', manifest: '/m' },
})
const EMPTY: Routed = { kind: 'empty', environment: 'e1' }

function open() {
  let now = 0
  const expected: string[] = []
  const visits = createFirstVisits({ expect: (environment) => expected.push(environment), now: () => now })
  return {
    ...visits,
    expected,
    pass: (ms: number) => {
      now += ms
    },
    /** A page that is asked for now. Returns whether another one is awaited. */
    ask: (target = '/', { isStored = false, startMs = now } = {}) =>
      visits.answered('e1', { target, startMs, isStored }),
    taken: () => visits.take().get('e1') ?? [],
  }
}

test('nothing is awaited of a deployment that was there when the edge was started', () => {
  const { switched, isAwaited, expected } = open()
  switched([site('d1')])
  switched([site('d1')])
  assert.deepEqual([isAwaited('e1'), expected], [false, []])
})

test('after a switch the first page is noted, once, and how long ago it was', () => {
  const { switched, isAwaited, pass, ask, taken } = open()
  switched([EMPTY])
  switched([site('d1'), site('d1')])
  pass(30)
  assert.equal(ask(), false)
  assert.equal(isAwaited('e1'), false)
  pass(50)
  assert.deepEqual(taken(), [{ deployment: 'd1', agoMs: 50 }])
  assert.deepEqual(taken(), [])
})

test('a request that came before the switch is not the first', () => {
  const { switched, pass, ask, taken } = open()
  switched([site('d1')])
  pass(10)
  switched([site('d2')])
  assert.equal(ask('/', { startMs: 5 }), true)
  assert.deepEqual(taken(), [])
})

test('a deployment that was replaced before a visit has none', () => {
  const { switched, ask, taken } = open()
  for (const deployment of ['d1', 'd2', 'd3']) switched([site(deployment)])
  ask()
  assert.deepEqual(
    taken().map((visit) => 'deployment' in visit && visit.deployment),
    ['d3'],
  )
})

test('after a purge of paths one of them is awaited; of tags, a page that was not stored; of everything, any page', () => {
  const { switched, purged, ask, taken } = open()
  const noted = () => taken().map((visit) => 'publish' in visit && visit.publish)
  switched([site('d1')])
  purged({ environment: 'e1', paths: ['/a/'], publish: 'paths' })
  purged({ environment: 'e1', tags: ['t'], publish: 'tags' })
  assert.equal(ask('/b', { isStored: true }), true)
  assert.deepEqual(noted(), [])
  ask('/a?x=1', { isStored: true })
  assert.deepEqual(noted(), ['paths'])
  assert.equal(ask('/b'), false)
  assert.deepEqual(noted(), ['tags'])
  purged({ environment: 'e1', publish: 'all' })
  ask('/b', { isStored: true })
  assert.deepEqual(noted(), ['all'])
})

test('purges of apps, and of environments that the edge does not answer for, await nothing', () => {
  const { switched, purged, isAwaited } = open()
  purged({ environment: 'e1', publish: 'p' })
  switched([site('d1')])
  purged({ environment: 'e1' })
  assert.equal(isAwaited('e1'), false)
})

test('a purge of a page that is not asked for among many others is not awaited any more', () => {
  const { switched, purged, ask, isAwaited } = open()
  switched([site('d1')])
  purged({ environment: 'e1', paths: ['/rare'], publish: 'p' })
  for (let count = 1; count < FIRST_VISIT_LIMITS.others; count++) ask('/often')
  assert.equal(isAwaited('e1'), true)
  assert.equal(ask('/often'), false)
  assert.equal(isAwaited('e1'), false)
})

test('of many purges before a visit the newest are noted, and with many paths any page will do', () => {
  const { switched, purged, ask, taken } = open()
  switched([site('d1')])
  const paths = Array.from({ length: FIRST_VISIT_LIMITS.paths + 1 }, (_, at) => `/${at}`)
  for (let at = 0; at < FIRST_VISIT_LIMITS.purges + 3; at++) purged({ environment: 'e1', paths, publish: `${at}` })
  ask('/elsewhere')
  const noted = taken()
  assert.deepEqual([noted.length, noted[0]], [FIRST_VISIT_LIMITS.purges, { publish: '3', agoMs: 0 }])
})

test('an environment that is forgotten awaits nothing', () => {
  const { switched, forget, ask } = open()
  switched([site('d1')])
  switched([site('d2')])
  forget(['e1'])
  assert.equal(ask(), false)
})

test('HTML is a page, by the headers and by the bytes of a response', () => {
  assert.equal(isPageIn(['Content-Type', 'text/html; charset=utf-8']), true)
  assert.equal(isPageIn({ 'content-type': 'application/xhtml+xml' }), true)
  assert.equal(isPageIn(['Content-Type', 'text/css', 'X', 'text/html']), false)
  assert.equal(isPageIn(undefined), false)
  const wire = (type: string) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nX: y\r\n\r\nContent-Type: text/html`
  assert.equal(isPageWire(Buffer.from(wire('text/html'))), true)
  assert.equal(isPageWire(Buffer.from(wire('text/htmlx'))), false)
  assert.equal(isPageWire({ head: wire('text/html;charset=x'), body: Buffer.alloc(0) }), true)
})

for (const hasFastPath of [true, false]) {
  const by = hasFastPath ? 'with the fast path' : 'by node:http alone'

  test(`an edge reports the first page after a switch and after a purge, and nothing else, ${by}`, async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      response.setHeader('cache-control', 's-maxage=60')
      if (request.url === '/missing') response.statusCode = 404
      response.setHeader('content-type', request.url === '/style.css' ? 'text/css' : 'text/html')
      response.end('x')
    })
    const target = serverTarget(upstream.port)
    const edge = await startTestEdge(t, { [HOST]: target }, { hasFastPath })
    const reported = () => edge.takeCounts()?.e1?.firstVisits?.map(({ agoMs: _, ...of }) => of) ?? []
    await ask(edge.port, { path: '/' })
    assert.deepEqual(reported(), [])
    edge.use({ [HOST]: { ...target, deployment: 'd2' } as typeof target })
    await ask(edge.port, { path: '/', method: 'HEAD' })
    for (const path of ['/style.css', '/style.css', '/missing']) await ask(edge.port, { path })
    assert.deepEqual(reported(), [])
    await ask(edge.port, { path: '/' })
    await ask(edge.port, { path: '/' })
    assert.deepEqual(reported(), [{ deployment: 'd2' }])
    edge.purge({ environment: 'e1', paths: ['/other'], publish: 'p1' })
    await ask(edge.port, { path: '/' })
    assert.deepEqual(reported(), [])
    await ask(edge.port, { path: '/other' })
    await ask(edge.port, { path: '/other' })
    assert.deepEqual(reported(), [{ publish: 'p1' }])
  })
}
