import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { LIMITS, type resources } from '../contract/index.ts'
import { statement, toPage } from '../storage/index.ts'
import { type Asked, createLedger, type Outcome } from './ledger.ts'

async function open(t: Scope) {
  const modules = await openCoreModules(t)
  const { sql, clock, newId, accounts, apps, environments, operations, notifyBelow } = modules
  const ledger = createLedger({ sql, newId, operations, notifyBelow })
  const account = await accounts.create('ours')
  const app = await apps.create(account.id, 'app', 'regions/UK')
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables: [] }

  async function environment(): Promise<string> {
    const id = newId()
    await sql.transaction((tx) => environments.insert(tx, { id: app.id, accountId: account.id }, id, draft))
    return id
  }

  const asked = (more: Partial<Asked> = {}): Asked => ({
    action: 'REBUILD',
    source: 'WEBHOOK',
    address: '192.0.2.1',
    userAgent: 'test',
    requestedBy: { kind: 'WEBHOOK', name: 'test' },
    time: clock.now(),
    ...more,
  })

  return {
    ...modules,
    ledger,
    environment,
    asked,
    id: await environment(),
    add: (id: string, all: readonly Asked[], outcome: Outcome = { answer: 200 }) =>
      sql.transaction((tx) => ledger.add(tx, id, all, outcome)),
    request: (environmentId: string, trigger: resources.Trigger = 'REBUILD') =>
      sql.transaction((tx) =>
        operations.request(tx, { accountId: account.id, appName: 'app', environmentId }, trigger, { queue: 'build' }),
      ),
    async count(environmentId: string): Promise<Record<string, number>> {
      const rows = await sql.query<{ source: string; action: string; n: number }>(statement`
        SELECT source, action, COUNT(*) AS n FROM triggers WHERE environment_id = ${environmentId}
        GROUP BY source, action ORDER BY source, action`)
      return Object.fromEntries(rows.map(({ source, action, n }) => [`${source} ${action}`, n]))
    },
  }
}

test('1 to 130 requests that come together are all recorded, each once and in their order', async (t) => {
  const { ledger, environment, asked, add } = await open(t)
  for (const size of [
    ...Array.from({ length: 22 }, (_, index) => index + 1),
    63,
    64,
    65,
    80,
    84,
    85,
    127,
    128,
    129,
    130,
  ]) {
    const id = await environment()
    await add(
      id,
      Array.from({ length: size }, (_, index) => asked({ userAgent: `caller ${index}` })),
    )
    const { items } = await ledger.list(id, toPage({ pageSize: 200, order: 'oldest' }))
    assert.deepEqual(
      items.map(({ userAgent }) => userAgent),
      Array.from({ length: size }, (_, index) => `caller ${index}`),
    )
    assert.equal(new Set(items.map((entry) => entry.id)).size, size)
  }
})

test('an entry is read as it was written; long texts are cut, and lone surrogates are replaced', async (t) => {
  const { ledger, id, asked, add, clock } = await open(t)
  const purged = { what: { paths: ['/a'] }, count: 1 }
  await add(id, [asked({ action: 'PURGE_CACHE', source: 'API' })], { answer: 200, purged })
  await add(id, [asked({ userAgent: `${'x'.repeat(LIMITS.userAgentLength - 1)}\u{1F4A9}` })], {
    answer: 400,
    reason: 'NOTHING_UPLOADED',
  })
  await add(id, [])
  const { items } = await ledger.list(id, toPage({}))
  assert.deepEqual(
    items.map(({ id: _, ...entry }) => entry),
    [
      {
        ...asked({ userAgent: `${'x'.repeat(LIMITS.userAgentLength - 1)}\ufffd` }),
        time: clock.now(),
        answer: 400,
        reason: 'NOTHING_UPLOADED',
      },
      { ...asked({ action: 'PURGE_CACHE', source: 'API' }), answer: 200, purged },
    ],
  )
})

test('nothing is written for a deleted environment, and its entries are deleted with it', async (t) => {
  const { id, asked, add, sql, newId, count } = await open(t)
  assert.deepEqual(await add(newId(), [asked()]), { isPruned: false })
  await add(id, [asked()])
  await sql.transaction((tx) => tx.query(statement`DELETE FROM environments WHERE id = ${id}`))
  assert.deepEqual(await count(id), {})
})

test('the newest of each share are kept: no source pushes out another, and purges no builds', async (t) => {
  const { environment, asked, add, count } = await open(t)
  const [id, other] = [await environment(), await environment()]
  const builds = [asked(), asked({ action: 'CLEAN_REBUILD' })]
  await add(id, builds)
  await add(id, [asked({ source: 'API' })])
  await add(other, [asked({ source: 'APP', action: 'PURGE_CACHE' })])
  const purge = asked({ source: 'APP', action: 'PURGE_CACHE' })
  for (let round = 0; round < 30; round++)
    await add(
      id,
      Array.from({ length: 10 }, () => purge),
    )
  const { 'APP PURGE_CACHE': kept = 0, ...untouched } = await count(id)
  assert.ok(kept >= LIMITS.triggersKeptOfApp && kept <= 1.1 * LIMITS.triggersKeptOfApp, `${kept} are kept`)
  assert.deepEqual(untouched, { 'API REBUILD': 1, 'WEBHOOK CLEAN_REBUILD': 1, 'WEBHOOK REBUILD': 1 })
  assert.deepEqual(await count(other), { 'APP PURGE_CACHE': 1 })

  const hooks = Array.from({ length: 500 }, () => asked({ action: 'PURGE_CACHE' }))
  for (let round = 0; round < 26; round++) await add(id, hooks)
  const after = await count(id)
  assert.ok((after['WEBHOOK PURGE_CACHE'] ?? 0) >= LIMITS.triggersKeptOfWebhooks)
  assert.ok((after['WEBHOOK PURGE_CACHE'] ?? 0) <= 1.1 * LIMITS.triggersKeptOfWebhooks)
  assert.equal(after['WEBHOOK REBUILD'], 1)
})

test('entries can be listed by their source', async (t) => {
  const { environment, asked, add, ledger } = await open(t)
  const id = await environment()
  for (const source of ['WEBHOOK', 'API', 'WEBHOOK'] as const) await add(id, [asked({ source })])
  const { items } = await ledger.list(id, toPage({}), { source: 'WEBHOOK' })
  assert.deepEqual(
    items.map(({ source }) => source),
    ['WEBHOOK', 'WEBHOOK'],
  )
})

test('the oldest entries of a share are removed, also those that an earlier process wrote', async (t) => {
  const { id, asked, add, sql, newId, operations, notifyBelow, ledger } = await open(t)
  const purges = Array.from({ length: 150 }, (_, index) =>
    asked({ source: 'APP', action: 'PURGE_CACHE', userAgent: `${index}` }),
  )
  await add(id, purges)
  const next = createLedger({ sql, newId, operations, notifyBelow })
  await sql.transaction((tx) =>
    next.add(tx, id, [asked({ source: 'APP', action: 'PURGE_CACHE', userAgent: 'last' })], { answer: 200 }),
  )
  const { items } = await ledger.list(id, toPage({ pageSize: 200 }))
  assert.equal(items.length, LIMITS.triggersKeptOfApp)
  assert.deepEqual([items[0]?.userAgent, items[1]?.userAgent, items.at(-1)?.userAgent], ['last', '149', '51'])
})

test('an entry names the operation that satisfied it in the end', async (t) => {
  const { id, asked, add, request, ledger, sql, operations } = await open(t)
  const [waiting, older, newer, other] = [
    await request(id),
    await request(id, 'UPLOAD'),
    await request(id, 'UPLOAD'),
    await request(id),
  ]
  await add(id, [asked(), asked()], { answer: 200, operationId: waiting.id })
  await add(id, [asked()], { answer: 200, operationId: older.id })
  await add(id, [asked()], { answer: 200, operationId: other.id })
  await add(id, [asked()], { answer: 400, reason: 'NOTHING_UPLOADED' })
  await sql.transaction((tx) => operations.satisfyBy(tx, waiting.id, older.id))
  await sql.transaction((tx) => operations.satisfyBy(tx, older.id, newer.id))
  const named = async () => (await ledger.list(id, toPage({}))).items.map(({ operationId }) => operationId)
  assert.deepEqual(await named(), [undefined, other.id, newer.id, newer.id, newer.id])
  const { ids, count } = await ledger.satisfiedBy(newer.id)
  assert.equal(count, 3)
  const { items } = await ledger.list(id, toPage({}), { operationId: newer.id })
  assert.deepEqual(
    items.map((entry) => entry.id),
    ids,
  )
  // The operation that the call was answered with lists the call, too.
  assert.equal((await ledger.satisfiedBy(waiting.id)).count, 2)
})

test('an operation lists its newest calls, and how many there are', async (t) => {
  const { id, asked, add, request, ledger } = await open(t)
  const operation = await request(id)
  await add(
    id,
    Array.from({ length: 130 }, () => asked()),
    { answer: 200, operationId: operation.id },
  )
  const { ids, count } = await ledger.satisfiedBy(operation.id)
  assert.deepEqual([ids.length, count], [LIMITS.triggersShown, 130])
  const { items } = await ledger.list(id, toPage({ pageSize: 200 }), { operationId: operation.id })
  assert.deepEqual(
    ids,
    items.slice(0, LIMITS.triggersShown).map((entry) => entry.id),
  )
})

test('pages follow each other without a gap, in both orders, also while entries come', async (t) => {
  const { id, environment, asked, add, ledger } = await open(t)
  const names = (count: number, word: string) =>
    Array.from({ length: count }, (_, index) => asked({ userAgent: `${word} ${index}` }))
  await add(await environment(), names(10, 'of another'))
  await add(id, names(25, 'caller'))
  for (const order of ['newest', 'oldest'] as const) {
    const found: string[] = []
    for (let pageToken = ''; ; ) {
      const page = await ledger.list(id, toPage({ pageSize: 10, order, ...(pageToken ? { pageToken } : {}) }))
      found.push(...page.items.map(({ userAgent }) => userAgent))
      pageToken = page.nextPageToken
      if (!pageToken) break
      if (order === 'newest') await add(id, names(1, 'late'))
    }
    const expected = names(25, 'caller').map(({ userAgent }) => userAgent)
    if (order === 'newest') assert.deepEqual(found, expected.toReversed())
    else assert.deepEqual(found, [...expected, 'late 0', 'late 0'])
  }
})

test('the last use of a webhook is that since a time, and only by a webhook', async (t) => {
  const { id, asked, add, ledger, clock } = await open(t)
  await add(id, [asked({ action: 'PURGE_CACHE' })])
  await clock.advance(1000)
  const since = clock.now()
  await add(id, [asked({ action: 'CLEAN_REBUILD', source: 'API' }), asked({ source: 'API' })])
  await add(id, [asked()])
  await clock.advance(1000)
  await add(id, [asked()])
  assert.deepEqual([...(await ledger.lastUses(id, since))], [['REBUILD', clock.now()]])
})

test('purges that one operation satisfied count as one, and refused ones are left out', async (t) => {
  const { id, asked, add, request, ledger } = await open(t)
  const purge = (source: resources.TriggerSource) => asked({ action: 'PURGE_CACHE', source })
  const operation = await request(id, 'PURGE_CACHE')
  await add(id, [purge('WEBHOOK'), purge('WEBHOOK'), purge('WEBHOOK')], { answer: 200, operationId: operation.id })
  await add(id, [purge('APP')])
  await add(id, [purge('APP')])
  await add(id, [purge('WEBHOOK')], { answer: 429, reason: 'TOO_MANY_TRIGGERS' })
  const last = async (max: number) => (await ledger.lastPurges(id, max)).map(({ source }) => source)
  assert.deepEqual(await last(10), ['APP', 'APP', 'WEBHOOK'])
  assert.deepEqual(await last(1), ['APP'])
})
