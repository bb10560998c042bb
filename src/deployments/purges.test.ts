import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { Purge } from '../edge/index.ts'
import { toPage } from '../storage/index.ts'
import type { Asked } from '../triggers/index.ts'
import { createPurges } from './purges.ts'
import { createRevalidations } from './records/revalidations.ts'
import { createClearCache } from './requests/clear-cache.ts'

/** The edge confirms at once, or, while it is away, never. */
async function open(t: Scope) {
  const modules = await openModules(t)
  const asked: Purge[] = []
  const edge = {
    isAway: false,
    leaseMs: 5000,
    purge(purge: Purge, signal?: AbortSignal): Promise<void> {
      asked.push(purge)
      order.push('edge')
      if (!edge.isAway) return Promise.resolve()
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const revalidations = createRevalidations(modules)
  const order: string[] = []
  const instances = { refreshExpiries: async () => void order.push('app') }
  const purges = createPurges({ ...modules, edges: edge, revalidations, instances })
  const environment = await modules.environment()
  const clearCache = createClearCache({
    ...modules,
    purges,
    finishWithEnvironment: (operation) => async () => ({ response: { name: operation.environmentId } }),
  })
  return {
    ...modules,
    edge,
    asked,
    order,
    revalidations,
    instances,
    purges,
    environment,
    another: modules.environment,
    clearCache,
  }
}

const asker = (source: Asked['source']): Asked => ({
  action: 'PURGE_CACHE',
  source,
  address: '192.0.2.1',
  userAgent: 'test',
  requestedBy: { kind: 'CREDENTIAL', name: 'ci' },
  time: 1,
})

test('a purge reaches the edge as it was given, and is recorded with its source', async (t) => {
  const { purges, environment, asked, clock } = await open(t)
  const { id } = environment
  await purges.byApp(environment, {})
  await clock.advance(1000)
  await purges.byApp(environment, { paths: ['/a'], tags: ['/a', 'b'] })
  assert.deepEqual(asked, [{ environment: id }, { environment: id, paths: ['/a'], tags: ['/a', 'b'] }])
  const [last, first] = await purges.last(id, 200)
  assert.deepEqual(
    { source: last?.source, what: last?.what, count: last?.count, time: last?.time },
    { source: 'APP', what: { paths: ['/a'], tags: ['/a', 'b'] }, count: 3, time: clock.now() },
  )
  assert.deepEqual(
    { source: first?.source, what: first?.what, count: first?.count },
    { source: 'APP', what: {}, count: 0 },
  )
})

test('lists that are empty purge nothing, and never everything', async (t) => {
  const { purges, environment, asked } = await open(t)
  for (const what of [{ tags: [] }, { paths: [] }, { paths: [], tags: [] }]) await purges.byApp(environment, what)
  assert.deepEqual(asked, [])
  await purges.byApp(environment, { paths: [], tags: ['a'] })
  assert.deepEqual(asked, [{ environment: environment.id, tags: ['a'] }])
  assert.equal((await purges.last(environment.id, 200)).length, 1)
})

test('the caller learns that the edge did not answer in time, and nothing is recorded', async (t) => {
  const { purges, environment, edge, asked, clock, clearCache, account, operations } = await open(t)
  edge.isAway = true
  const late = assert.rejects(purges.byApp(environment, {}), {
    reason: 'PURGE_NOT_CONFIRMED',
    retryAfterSeconds: 5,
  })
  await clock.advance(10_000)
  await late
  const call = clearCache({ account, appName: environment.appName, environmentId: environment.id }, {}, [asker('API')])
  const refused = assert.rejects(call, { reason: 'PURGE_NOT_CONFIRMED' })
  while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(10_000)
  await refused
  assert.deepEqual(await purges.last(environment.id, 200), [])
  assert.equal(await operations.isAny(), false)
})

test('a fault of another kind is not taken for an edge that is late', async (t) => {
  const { purges, edge, environment } = await open(t)
  edge.purge = () => Promise.reject(new Error('broken'))
  await assert.rejects(purges.byApp(environment, {}), /broken/)
})

test('the newest of each environment are kept, and their records are short', async (t) => {
  const { purges, environment: ours, another } = await open(t)
  const theirs = await another()
  await purges.byApp(theirs, { tags: ['theirs'] })
  for (let number = 0; number < 120; number++) await purges.byApp(ours, { tags: [`tag ${number}`] })
  const kept = await purges.last(ours.id, 200)
  assert.ok(kept.length >= 100 && kept.length < 120, `${kept.length} are kept`)
  assert.deepEqual(kept.at(0)?.what, { tags: ['tag 119'] })
  assert.deepEqual(kept.at(99)?.what, { tags: ['tag 20'] })
  assert.equal((await purges.last(theirs.id, 200)).length, 1)
  const many = Array.from({ length: 500 }, (_, number) => `/${number}${'x'.repeat(1000)}`)
  await purges.byApp(ours, { paths: many, tags: many })
  const [last] = await purges.last(ours.id, 1)
  assert.equal(last?.count, 1000)
  assert.equal(last?.what.paths?.length, 20)
  assert.deepEqual(last?.what.tags, [])
  assert.ok(JSON.stringify(last).length < 5000)
})

test('purges are deleted with their environment, and one that comes later leaves no record', async (t) => {
  const { purges, environment, environments, sql } = await open(t)
  await purges.byApp(environment, {})
  await sql.transaction((tx) => environments.remove(tx, environment.id))
  assert.deepEqual(await purges.last(environment.id, 200), [])
  await purges.byApp(environment, {})
  assert.deepEqual(await purges.last(environment.id, 200), [])
})

test('clearing the cache is an operation that is done at once, and waits for no other', async (t) => {
  const { clearCache, account, environment, operations, operation: ask, purges, asked } = await open(t)
  await ask(environment)
  const { id, appName } = environment
  const made = await clearCache({ account, appName, environmentId: id }, { paths: ['/a'] }, [asker('API')])
  assert.equal(made.trigger, 'PURGE_CACHE')
  assert.equal(made.phase, 'DONE')
  assert.notEqual(made.doneTime, null)
  assert.deepEqual(made.response, { name: id })
  assert.deepEqual(asked, [{ environment: id, paths: ['/a'] }])
  const path = { accountId: account.id, appName, environmentId: id }
  assert.deepEqual(await operations.require(path, made.id), made)
  assert.equal((await purges.last(id, 200))[0]?.source, 'API')
})

test('an environment that is being deleted or of another account, and an empty list, are refused before the edge is asked', async (t) => {
  const { clearCache, account, accounts, environment, environments, sql, asked } = await open(t)
  const { id, appName } = environment
  const stranger = await accounts.create('stranger')
  await assert.rejects(clearCache({ account: stranger, appName, environmentId: id }, {}, [asker('API')]), {
    reason: 'ENVIRONMENT_NOT_FOUND',
  })
  await assert.rejects(clearCache({ account, appName, environmentId: id }, { paths: [] }, [asker('API')]), {
    reason: 'FIELD_INVALID',
  })
  const many = Array.from({ length: 501 }, (_, number) => `/${number}`)
  await assert.rejects(
    clearCache({ account, appName, environmentId: id }, { paths: many, tags: many }, [asker('API')]),
    {
      reason: 'FIELD_INVALID',
    },
  )
  await sql.transaction((tx) => environments.markDeleting(tx, id))
  await assert.rejects(clearCache({ account, appName, environmentId: id }, {}, [asker('API')]), {
    reason: 'ENVIRONMENT_DELETING',
  })
  assert.deepEqual(asked, [])
})

test('only the newest purges keep the environment in their response, which may be long', async (t) => {
  const { clearCache, account, environment, operations } = await open(t)
  const { id, appName } = environment
  for (let count = 0; count < 25; count++) await clearCache({ account, appName, environmentId: id }, {}, [asker('API')])
  const path = { accountId: account.id, appName, environmentId: id }
  const { items } = await operations.list(path, toPage({ pageSize: 100 }))
  assert.deepEqual(
    items.map(({ response }) => Object.keys(response as object).length),
    items.map((_, index) => (index < 20 ? 1 : 0)),
  )
})

test("what a caller purges expires in the app's own cache before the edge asks the app again", async (t) => {
  const { clearCache, revalidations, environment, account, clock, order } = await open(t)
  const { id, appName } = environment
  const time = clock.now()
  const what = { paths: ['/', '/caf%C3%A9/?page=2'], tags: ['posts', 'Bücher'] }
  await clearCache({ account, appName, environmentId: id }, what, [asker('API')])
  assert.deepEqual(order, ['app', 'edge'])
  const tags = ['/', '_N_T_/', '_N_T_/index', '/caf%c3%a9', '_N_T_/caf%c3%a9', 'posts', 'B%c3%bccher']
  assert.deepEqual(await revalidations.read(id), {
    everything: 0,
    tags: Object.fromEntries(tags.map((tag) => [tag, time])),
  })
  await clock.advance(1)
  await clearCache({ account, appName, environmentId: id }, {}, [asker('API')])
  assert.deepEqual(await revalidations.read(id), { everything: time + 1, tags: {} })
})

test('what an app revalidates is recorded with its time, and pages that it made only during a deployment', async (t) => {
  const { purges, revalidations, environment, clock, order, asked } = await open(t)
  const time = clock.now() - 500
  const times = { revalidated: { posts: time, later: clock.now() + 60_000 }, made: { '_N_T_/a': time } }
  await purges.byApp(environment, { tags: ['posts'] }, times)
  const known = { posts: time, later: clock.now() }
  assert.deepEqual(await revalidations.read(environment.id), { everything: 0, tags: known })
  assert.deepEqual(order, ['app', 'edge'])
  const end = revalidations.expectSuccessor(environment.id)
  await purges.byApp(environment, { tags: [] }, { made: { '_N_T_/a': time } })
  assert.deepEqual(await revalidations.read(environment.id), { everything: 0, tags: { ...known, '_N_T_/a': time } })
  assert.deepEqual([order, asked.length], [['app', 'edge', 'app'], 1])
  end()
  assert.equal(revalidations.isReplaced(environment.id), false)
})

test('pages that an app made are always recorded where its instances share no files', async (t) => {
  const { environment, revalidations, edge, ...modules } = await open(t)
  const purges = createPurges({ ...modules, edges: edge, revalidations, isSpread: true })
  const time = modules.clock.now() - 500
  await purges.byApp(environment, { tags: ['_N_T_/a'] }, { made: { '_N_T_/a': time } })
  assert.deepEqual(await revalidations.read(environment.id), { everything: 0, tags: { '_N_T_/a': time } })
})
