import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRouteTable } from './route-table.ts'
import type { RouteTarget } from './routes.ts'

const server = (environment: string, deployment: string): RouteTarget => ({ kind: 'server', environment, deployment })
const running = (instance: string) =>
  ({ state: 'running', instances: [{ instance, host: '127.0.0.1', port: 1 }] }) as const

test('a server is awaited until its instance is reported', () => {
  const table = createRouteTable()
  const routed = table.setRoutes([{ environment: 'e1', hosts: { a: server('e1', 'd1') } }])
  assert.deepEqual(routed.get('a'), { kind: 'awaited', environment: 'e1', deployment: 'd1' })
  assert.equal(table.setInstance('d1', { state: 'asleep' }).get('a')?.kind, 'asleep')
  assert.equal(table.setInstance('d1', running('i1')).get('a')?.kind, 'server')
  assert.equal(table.setInstance('d1', { state: 'down' }).get('a')?.kind, 'down')
})

test('an instance that is reported before its route is used at once', () => {
  const table = createRouteTable()
  assert.equal(table.setInstance('d1', running('i1')).size, 0)
  const routed = table.setRoutes([{ environment: 'e1', hosts: { a: server('e1', 'd1') } }])
  assert.deepEqual(routed.get('a'), { ...server('e1', 'd1'), ...running('i1').instances[0] })
})

test('a change names the hosts of its environment and no others', () => {
  const table = createRouteTable()
  table.setRoutes([
    { environment: 'e1', hosts: { a: server('e1', 'd1'), old: server('e1', 'd1') } },
    { environment: 'e2', hosts: { b: server('e2', 'd2') } },
  ])
  const changes = table.setRoutes([{ environment: 'e1', hosts: { a: server('e1', 'd3') } }])
  assert.deepEqual([...changes.keys()].toSorted(), ['a', 'old'])
  assert.equal(changes.get('old'), undefined)
})

test('a host that moved to another environment stays there, in whichever order the two are told', () => {
  for (const order of [
    ['e1', 'e2'],
    ['e2', 'e1'],
  ]) {
    const table = createRouteTable()
    table.setRoutes([{ environment: 'e1', hosts: { shop: server('e1', 'd1') } }])
    const hosts = { e1: {}, e2: { shop: server('e2', 'd2') } }
    let last: string | undefined
    for (const environment of order) {
      const changes = table.setRoutes([{ environment, hosts: hosts[environment as keyof typeof hosts] }])
      if (changes.has('shop')) last = changes.get('shop')?.environment
    }
    assert.equal(last, 'e2')
  }
})

test('a whole table removes the environments that it does not have', () => {
  const table = createRouteTable()
  table.setRoutes([{ environment: 'e1', hosts: { a: server('e1', 'd1') } }])
  const changes = table.setAllRoutes([{ environment: 'e2', hosts: { b: { kind: 'empty', environment: 'e2' } } }])
  assert.deepEqual(
    [...changes],
    [
      ['a', undefined],
      ['b', { kind: 'empty', environment: 'e2' }],
    ],
  )
  assert.deepEqual(
    table.all().map(({ environment }) => environment),
    ['e2'],
  )
})

test('a server with several instances is one target that knows all of them', () => {
  const table = createRouteTable()
  table.setRoutes([{ environment: 'e1', hosts: { a: server('e1', 'd1') } }])
  const [one, two] = [
    { instance: 'i1', host: '127.0.0.1', port: 1 },
    { instance: 'i2', host: '127.0.0.1', port: 2 },
  ]
  const routed = table.setInstance('d1', { state: 'running', instances: [one, two] }).get('a')
  assert.ok(routed?.kind === 'server')
  assert.deepEqual(
    routed.peers?.map(({ instance }) => instance),
    ['i1', 'i2'],
  )
})

test('files of earlier deployments are known whatever the state of the app', () => {
  const table = createRouteTable()
  const target = { kind: 'server', environment: 'e1', deployment: 'd1', earlierFiles: '/data/a.index' } as const
  const states = [
    table.setRoutes([{ environment: 'e1', hosts: { a: target } }]),
    table.setInstance('d1', { state: 'asleep' }),
    table.setInstance('d1', { state: 'down' }),
    table.setInstance('d1', { state: 'running', instances: [] }),
    table.setInstance('d1', { state: 'running', instances: [{ instance: 'i1', host: '127.0.0.1', port: 1 }] }),
    table.setInstance('d1', undefined),
  ].map((changes) => changes.get('a'))
  assert.deepEqual(
    states.map((routed) => [routed?.kind, routed?.earlierFiles]),
    ['awaited', 'asleep', 'down', 'asleep', 'server', 'awaited'].map((kind) => [kind, '/data/a.index']),
  )
})

test('who may see an environment holds for each of its hosts, whatever becomes of its instances', () => {
  const table = createRouteTable()
  const access = { isHidden: true, protection: { addresses: ['::1'] } }
  const hosts: Record<string, RouteTarget> = {
    a: server('e1', 'd1'),
    b: { kind: 'redirect', environment: 'e1', to: 'a' },
  }
  const first = table.setRoutes([{ environment: 'e1', hosts, access }])
  assert.deepEqual([first.get('a')?.access, first.get('b')?.access], [access, access])
  const several = [running('i1'), running('i2')].flatMap(({ instances }) => instances)
  for (const report of [{ state: 'asleep' }, running('i1'), { state: 'running', instances: several }] as const)
    assert.deepEqual(table.setInstance('d1', report).get('a')?.access, access)
  const target = table.setInstance('d1', { state: 'running', instances: several }).get('a')
  assert.ok(target?.kind === 'server' && target.peers?.every((peer) => peer.access === access))
  assert.deepEqual(table.setInstance('d1', { state: 'running', instances: [] }).get('a')?.access, access)
  assert.deepEqual(table.forgetInstances().get('a')?.access, access)
  assert.deepEqual(table.all(), [{ environment: 'e1', hosts, access }])
  const open = table.setRoutes([{ environment: 'e1', hosts }])
  assert.deepEqual([open.get('a')?.access, open.get('b')?.access], [undefined, undefined])
})

const fetched = (environment: string, deployment: string): RouteTarget => ({
  ...{ kind: 'static', environment, deployment, earlierFiles: '/control/earlier/index' },
  ...{ folder: '/control/files', manifest: '/control/edge/manifest' },
  output: { digest: `sha256:${deployment}`, image: `registry/app@sha256:${deployment}` },
})
const here = (name: string) => ({ state: 'here', folder: `/edge/${name}`, manifest: `/edge/${name}.list` }) as const
const routesOf = (target: RouteTarget, more = {}) => [{ environment: 'e1', hosts: { a: target }, ...more }]
const REDIRECT: RouteTarget = { kind: 'redirect', environment: 'e1', to: 'a' }

test('files of a static site are where the files process says, and nothing of another machine is used', () => {
  const table = createRouteTable({ fetchesFiles: true })
  const of = { environment: 'e1', deployment: 'd1' }
  const { output } = fetched('e1', 'd1') as { output?: unknown }
  assert.deepEqual(table.setRoutes(routesOf(fetched('e1', 'd1'))).get('a'), { kind: 'unfetched', ...of, output })
  const found = table.setFiles('sha256:d1', here('d1')).get('a')
  assert.deepEqual(found, { kind: 'static', ...of, folder: '/edge/d1', manifest: '/edge/d1.list' })
  assert.deepEqual(table.setFiles('sha256:d1', { state: 'failed' }).get('a'), { kind: 'unavailable', ...of })
  assert.equal(table.setFiles('sha256:d1', undefined).get('a')?.kind, 'unfetched')
})

test('a static site without an image cannot be served on another machine', () => {
  const table = createRouteTable({ fetchesFiles: true })
  const { output: _, ...target } = fetched('e1', 'd1') as Extract<RouteTarget, { kind: 'static' }>
  assert.equal(table.setRoutes(routesOf(target)).get('a')?.kind, 'unavailable')
  assert.equal(createRouteTable().setRoutes(routesOf(target)).get('a')?.kind, 'static')
})

test('the deployment before stands in until the files of the next are there, with the access of now', () => {
  const table = createRouteTable({ fetchesFiles: true })
  table.setRoutes(routesOf(fetched('e1', 'd1')))
  table.setFiles('sha256:d1', here('d1'))
  const access = { isHidden: true }
  const next = { environment: 'e1', hosts: { a: fetched('e1', 'd2'), new: fetched('e1', 'd2'), b: REDIRECT }, access }
  const changes = table.setRoutes([next])
  assert.deepEqual(changes.get('a'), {
    ...{ kind: 'static', environment: 'e1', deployment: 'd1', access },
    ...{ folder: '/edge/d1', manifest: '/edge/d1.list' },
  })
  assert.deepEqual(changes.get('new'), changes.get('a'))
  assert.equal(changes.get('b')?.kind, 'redirect')
  assert.equal(table.standsInFor('e1')?.digest, 'sha256:d2')
  assert.deepEqual(table.files.takeUnused(), [])
  const used = table.setFiles('sha256:d2', here('d2')).get('a')
  assert.equal(used?.kind === 'static' && used.folder, '/edge/d2')
  assert.equal(table.standsInFor('e1'), undefined)
  assert.deepEqual(table.files.takeUnused(), ['sha256:d1'])
})

test('a server stands in as well, wherever its instances are meanwhile', () => {
  const table = createRouteTable({ fetchesFiles: true })
  table.setRoutes(routesOf(server('e1', 'd1')))
  table.setInstance('d1', running('i1'))
  assert.equal(table.setRoutes(routesOf(fetched('e1', 'd2'))).get('a')?.kind, 'server')
  assert.equal(table.setInstance('d1', { state: 'down' }).get('a')?.kind, 'down')
  assert.equal(table.endStandIn('e1').get('a')?.kind, 'unfetched')
  assert.equal(table.setInstance('d1', running('i2')).size, 0)
})

test('what has ended does not stand in again', () => {
  const table = createRouteTable({ fetchesFiles: true })
  table.setRoutes(routesOf(fetched('e1', 'd1')))
  table.setFiles('sha256:d1', here('d1'))
  table.setRoutes(routesOf(fetched('e1', 'd2')))
  table.endStandIn('e1')
  assert.equal(table.setRoutes(routesOf(fetched('e1', 'd3'))).get('a')?.kind, 'unfetched')
  assert.equal(table.standsInFor('e1'), undefined)
})

test('files that no host leads to are not used, and a host of another environment is left alone', () => {
  const table = createRouteTable({ fetchesFiles: true })
  assert.equal(table.setFiles('sha256:d1', here('d1')).size, 0)
  assert.deepEqual(table.files.here(), [])
  table.setRoutes(routesOf(fetched('e1', 'd1')))
  table.setRoutes([{ environment: 'e2', hosts: { a: server('e2', 'd9') } }])
  assert.equal(table.setFiles('sha256:d1', here('d1')).has('a'), false)
})
