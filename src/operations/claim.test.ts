import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { OF_SQLITE } from '../../test/support/postgres/databases.ts'
import { rows, type Sql, type Statement, statement } from '../storage/index.ts'
import { createClaims, LEASE_MS } from './claim.ts'
import { createOperationCounts } from './counts.ts'
import type { Queue } from './types.ts'

const MANY = { quick: 1000, light: 1000, build: 1000 }

type Given = {
  account: number
  environment: number
  queue: Queue | 'none'
  /** A lease of another process, or one that has run out. */
  lease: 'none' | 'held' | 'over'
  settles: boolean
  isCancelled: boolean
}

async function setUp(t: TestContext, accountCount = 3) {
  const { sql, clock, newId, accounts } = await openCoreModules(t)
  const ids: string[] = []
  for (let index = 0; index < accountCount; index++) ids.push((await accounts.create(`account-${index}`)).id)

  async function fill(given: readonly Given[]): Promise<string[]> {
    const now = clock.now()
    const made = given.map(({ account, environment, queue, lease, settles, isCancelled }) => {
      const leaseUntil = { none: null, held: now + LEASE_MS, over: now - 1 }[lease]
      const owner = lease === 'none' ? null : 'another'
      // An environment belongs to one account.
      const place = [ids[account] ?? '', `environment ${account} ${environment}`]
      const times = [settles ? now + 60_000 : null, isCancelled ? now : null]
      return [newId(), ...place, queue, owner, leaseUntil, ...times, 'a', 'a', 'CREATE', 'QUEUED', '', '', 0, now]
    })
    await sql.transaction(async (tx) => {
      await tx.query(statement`DELETE FROM operations`)
      for (let from = 0; from < made.length; from += 500) {
        await tx.query(statement`
          INSERT INTO operations (id, account_id, environment_id, queue, lease_owner, lease_until, not_before, cancel_time,
            app_name, folded_app_name, trigger_name, phase, build, deployment, attempts, create_time)
          VALUES ${rows(made.slice(from, from + 500))}`)
      }
    })
    return made.map(([id]) => String(id))
  }

  return {
    sql,
    clock,
    accounts,
    fill,
    claims: (perAccount = MANY, concurrency = MANY, owner = 'me') =>
      createClaims({ sql, clock, owner, concurrency, perAccount, hasSeveralAccounts: accounts.areSeveral }),
  }
}

/** The expected claim, computed as simply as possible and without regard to speed. */
function nextOf(given: readonly Given[], queues: readonly Queue[], max: number): number | undefined {
  const isHeld = ({ lease }: Given) => lease === 'held'
  const isDue = ({ settles, isCancelled }: Given) => !settles || isCancelled
  const isSamePlace = (a: Given, b: Given) => a.account === b.account && a.environment === b.environment
  const atWork = ({ account, queue }: Given) =>
    given.filter((other) => isHeld(other) && other.account === account && other.queue === queue).length
  for (const queue of queues) {
    const [next] = given
      .map((one, index) => ({ one, index }))
      .filter(({ one }) => one.queue === queue && !isHeld(one) && isDue(one) && atWork(one) < max)
      .filter(
        ({ one, index }) =>
          !given.some(
            (other, at) =>
              at !== index &&
              other.queue !== 'none' &&
              isSamePlace(other, one) &&
              (isHeld(other) || (at < index && isDue(other))),
          ),
      )
      .toSorted((a, b) => atWork(a.one) - atWork(b.one) || a.index - b.index)
    if (next) return next.index
  }
  return undefined
}

const anyGiven: fc.Arbitrary<Given> = fc.record({
  account: fc.nat(2),
  environment: fc.nat(3),
  queue: fc.constantFrom('quick', 'build', 'none'),
  lease: fc.constantFrom('none', 'none', 'none', 'held', 'over'),
  settles: fc.boolean(),
  isCancelled: fc.boolean(),
})

test('a claim takes the oldest operation of the account with the fewest running ones, in the order of each environment', async (t) => {
  const { fill, claims } = await setUp(t)
  await holds(
    fc.asyncProperty(
      fc.array(anyGiven, { maxLength: 16 }),
      fc.constantFrom<Queue[]>(['quick'], ['build'], ['quick', 'build']),
      fc.integer({ min: 1, max: 3 }),
      async (given, queues, max) => {
        const ids = await fill(given)
        const claimed = await claims({ quick: max, light: max, build: max }).next(queues)
        const expected = nextOf(given, queues, max)
        assert.equal(claimed?.operation.id, expected === undefined ? undefined : ids[expected])
      },
    ),
    80,
  )
})

test('what is at work is listed with its process, until its lease has run out', async (t) => {
  const { sql, clock, fill } = await setUp(t)
  const one = { account: 0, queue: 'build', settles: false, isCancelled: false } as const
  const [held] = await fill([
    { ...one, environment: 0, lease: 'held' },
    { ...one, environment: 1, lease: 'over' },
    { ...one, environment: 2, lease: 'none' },
  ])
  const { atWork } = createOperationCounts(sql)
  const found = await atWork(clock.now())
  assert.deepEqual(
    found.map(({ id, owner, queue, app }) => ({ id, owner, queue, app })),
    [{ id: held, owner: 'another', queue: 'build', app: 'a' }],
  )
  assert.deepEqual(await atWork(clock.now() + LEASE_MS + 1), [])
})

test('a claim reads by an index, however much waits', OF_SQLITE, async (t) => {
  const { sql, clock, accounts, fill } = await setUp(t)
  const asked: Statement[] = []
  const watched: Sql = {
    ...sql,
    transaction: (work) =>
      sql.transaction((tx) =>
        work({
          ...tx,
          query(one) {
            asked.push(one)
            return tx.query(one)
          },
        }),
      ),
  }
  await fill([{ account: 0, environment: 0, queue: 'build', lease: 'none', settles: false, isCancelled: false }])
  const claims = createClaims({
    sql: watched,
    clock,
    owner: 'me',
    concurrency: MANY,
    hasSeveralAccounts: accounts.areSeveral,
  })
  assert.ok(await claims.next(['quick', 'build']))
  const updates = asked.filter(({ texts }) => texts.some((text) => text.includes('candidates')))
  assert.equal(updates.length, 2)
  for (const { texts, values } of updates) {
    const [first = '', ...rest] = texts
    const explained = statement(Object.assign([`EXPLAIN QUERY PLAN ${first}`, ...rest], { raw: [] }), ...values)
    const plan = (await sql.query<{ detail: string }>(explained)).map(({ detail }) => detail)
    const ofOperations = plan.filter((step) => /^(SCAN|SEARCH) (mine|waiting|other|operations)\b/.test(step))
    assert.ok(ofOperations.length >= 4, plan.join('\n'))
    for (const step of ofOperations) assert.match(step, /^SEARCH \w+ USING .*INDEX/, plan.join('\n'))
  }
})

test('of many operations that wait for another one of their environment only a limited number is read', async (t) => {
  const { fill, claims } = await setUp(t, 2)
  const waits = (environment: number, queue: Queue): Given => ({
    account: 0,
    environment,
    queue,
    lease: 'none',
    settles: false,
    isCancelled: false,
  })
  // Each environment waits for a build, and a thousand changes wait behind them; another account has one operation.
  const blocked = Array.from({ length: 20 }, (_, environment) => [
    waits(environment, 'build'),
    ...Array.from({ length: 50 }, () => waits(environment, 'quick')),
  ]).flat()
  const ids = await fill([...blocked, { ...waits(0, 'quick'), account: 1 }])
  assert.equal((await claims().next(['quick']))?.operation.id, ids.at(-1))
  assert.equal(await claims().next(['quick']), undefined)
  assert.equal((await claims().next(['build']))?.operation.id, ids[0])
})

test('with several accounts none gets every place, and a single account may have them all', async (t) => {
  const waits = (environment: number): Given => ({
    account: 0,
    environment,
    queue: 'build',
    lease: 'none',
    settles: false,
    isCancelled: false,
  })
  const many = Array.from({ length: 5 }, (_, environment) => waits(environment))
  for (const [accountCount, max] of [
    [2, 2],
    [1, 3],
  ] as const) {
    const { fill, claims } = await setUp(t, accountCount)
    await fill(many)
    const { next } = claims(MANY, { quick: 1, light: 1, build: 3 })
    let taken = 0
    while (await next(['build'])) taken++
    assert.equal(taken, max)
  }
})

test('an account has places in each process; what it may have at a time is counted in all of them', async (t) => {
  const { fill, claims } = await setUp(t, 1)
  const waiting = { account: 0, queue: 'build', lease: 'none', settles: false, isCancelled: false } as const
  await fill([1, 2, 3, 4].map((environment) => ({ ...waiting, environment })))
  const onePlace = { ...MANY, build: 1 }
  const next = (owner: string, perAccount = MANY) => claims(perAccount, onePlace, owner).next(['build'])
  assert.ok(await next('one'))
  assert.equal(await next('one'), undefined)
  assert.ok(await next('two'))
  assert.equal(await next('three', { ...MANY, build: 2 }), undefined)
  assert.ok(await next('three'))
})
