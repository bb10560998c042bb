import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { until as untilSeen } from '../../test/support/until.ts'
import { type Clock, createLog } from '../base/index.ts'
import { LIMITS, Problem, resources } from '../contract/index.ts'
import { DatabaseAway, statement, type Transaction, toPage } from '../storage/index.ts'
import { LEASE_MS } from './claim.ts'
import type { Operation, Queue } from './types.ts'
import { type Handler, type Handlers, MAX_ATTEMPTS, type OnEnd, startWorker } from './worker.ts'

const log = createLog('silent')
const succeed: Handler = async () => async () => ({ response: { well: true } })

const CONCURRENCY = { quick: 4, light: 1, build: 1 }

async function setUp(t: TestContext) {
  const modules = await openCoreModules(t)
  const account = await modules.accounts.create('agency')
  const path = (environmentId: string) => ({ accountId: account.id, appName: 'App', environmentId })

  async function ask(environmentId = modules.newId(), queue: Queue = 'quick'): Promise<Operation> {
    const operation = await modules.sql.transaction((tx) =>
      modules.operations.request(tx, path(environmentId), 'CREATE', { queue }),
    )
    modules.operations.announce()
    return operation
  }

  type Options = { clock?: Clock; concurrency?: Record<Queue, number>; onEnd?: OnEnd }

  function work(handler: Handler, { clock = modules.clock, concurrency = CONCURRENCY, onEnd }: Options = {}) {
    const handlers = Object.fromEntries(resources.TRIGGERS.map((trigger) => [trigger, handler])) as Handlers
    const hasSeveralAccounts = modules.accounts.areSeveral
    const told = onEnd ? { onEnd } : {}
    const worker = startWorker({ ...modules, clock, log, handlers, concurrency, hasSeveralAccounts, ...told })
    t.after(() => worker.stop(0))
    return worker
  }

  /** Reads until the condition holds. */
  async function until(operation: Operation, holds: (now: Operation) => boolean): Promise<Operation> {
    return untilSeen(async () => {
      const now = await modules.operations.require(path(operation.environmentId), operation.id)
      return holds(now) && now
    })
  }
  const untilDone = (operation: Operation) => until(operation, ({ doneTime }) => doneTime !== null)

  async function cancel(at: ReturnType<typeof path>, id: string) {
    await modules.sql.transaction((tx) => modules.operations.cancel(tx, at, id))
    modules.operations.announce()
  }

  return { ...modules, path, ask, work, until, untilDone, cancel }
}

const gate = () => Promise.withResolvers<void>()

test('an operation runs to its end and carries the response', async (t) => {
  const { ask, work, untilDone } = await setUp(t)
  work(succeed)
  const done = await untilDone(await ask())
  assert.deepEqual([done.phase, done.response, done.error], ['DONE', { well: true }, null])
})

test('what a handler throws for the caller becomes the error of the operation', async (t) => {
  const { ask, work, untilDone } = await setUp(t)
  work(async () => {
    throw new Problem('ENVIRONMENT_DELETING')
  })
  const { error } = await untilDone(await ask())
  assert.equal(error?.code, 9)
  assert.equal(error?.details[0]?.reason, 'ENVIRONMENT_DELETING')
})

test('an operation that loses the database begins again, and its attempt does not count', async (t) => {
  const { clock, ask, work, path, operations } = await setUp(t)
  let attempts = 0
  work(async (operation, at) => {
    attempts += 1
    if (attempts <= MAX_ATTEMPTS + 1) throw new DatabaseAway('away')
    return succeed(operation, at)
  })
  const { environmentId, id } = await ask()
  const done = await untilSeen(async () => {
    await clock.advance(1000)
    const now = await operations.require(path(environmentId), id)
    return now.doneTime !== null && now
  })
  assert.deepEqual([attempts, done.error], [MAX_ATTEMPTS + 2, null])
})

test('a fault of the service ends as INTERNAL and does not reveal its cause', async (t) => {
  const { ask, work, untilDone } = await setUp(t)
  work(async () => {
    throw new Error('password of the database is hunter2')
  })
  const done = await untilDone(await ask())
  assert.equal(done.error?.code, 13)
  assert.doesNotMatch(JSON.stringify(done), /hunter2/)
})

test('what is told of an end is part of its transaction, and cannot keep it from being recorded', async (t) => {
  const { ask, work, untilDone, path } = await setUp(t)
  const told: unknown[] = []
  const [first, second] = [await ask(), await ask()]
  const onEnd: OnEnd = async (tx, { id }, ending) => {
    if (id === second.id) await tx.query(statement`SELECT * FROM no_such_table`)
    await tx.query(statement`UPDATE operations SET app_name = 'told' WHERE id = ${id}`)
    told.push(ending)
  }
  work(succeed, { onEnd })
  const ends = [await untilDone(first), await untilDone(second)]
  assert.deepEqual(
    ends.map(({ appName, response }) => [appName, response]),
    [
      ['told', { well: true }],
      [path('').appName, { well: true }],
    ],
  )
  assert.deepEqual(told, [{ response: { well: true } }])
})

test('operations of one environment run one at a time and in order, those of others beside them', async (t) => {
  const { ask, work, untilDone, newId } = await setUp(t)
  const environmentId = newId()
  const order: string[] = []
  const opened = gate()
  const [first, second, elsewhere] = [await ask(environmentId), await ask(environmentId), await ask()]
  work(async (operation) => {
    order.push(`start ${operation.id}`)
    if (operation.id === first.id) await opened.promise
    order.push(`end ${operation.id}`)
    return async () => ({ response: {} })
  })
  await untilDone(elsewhere)
  assert.ok(!order.includes(`start ${second.id}`))
  opened.resolve()
  await untilDone(second)
  assert.ok(order.indexOf(`end ${first.id}`) < order.indexOf(`start ${second.id}`))
})

test('no more operations run at a time than allowed', async (t) => {
  const { ask, work, untilDone } = await setUp(t)
  let [running, max] = [0, 0]
  const asked = await Promise.all(Array.from({ length: 12 }, () => ask()))
  work(
    async () => {
      max = Math.max(max, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      return async () => ({ response: {} })
    },
    { concurrency: { quick: 3, light: 1, build: 1 } },
  )
  await Promise.all(asked.map(untilDone))
  assert.ok(max <= 3, `${max} ran at a time`)
})

test('when a worker dies, its operation is taken over after the lease, and ends once', async (t) => {
  const { ask, work, untilDone, clock, sql } = await setUp(t)
  const operation = await ask()
  // A worker that died: the lease exists, and no process renews it.
  await sql.transaction((tx) =>
    tx.query(
      statement`UPDATE operations SET lease_owner = 'the dead', lease_until = ${clock.now() + LEASE_MS}, attempts = 1`,
    ),
  )
  let runs = 0
  work(async () => {
    runs++
    return async () => ({ response: {} })
  })
  await clock.advance(LEASE_MS - 1)
  assert.equal(runs, 0)
  while (runs === 0) await clock.advance(1000)
  await untilDone(operation)
  assert.equal(runs, 1)
})

test('a worker that slept through its lease records no second end, and nothing of its work', async (t) => {
  const { ask, work, until, untilDone, sql, clock } = await setUp(t)
  const [sleeping, started] = [gate(), gate()]
  const finished: string[] = []
  const ending = (name: string) => async (tx: Transaction) => {
    await tx.query(statement`INSERT INTO instance (name, value) VALUES (${name}, 'committed')`)
    finished.push(name)
    return { response: { by: name } }
  }
  // Its clock stands still, so it never renews its lease: like a process that was stopped and later continues.
  work(
    async () => {
      started.resolve()
      await sleeping.promise
      return ending('slow')
    },
    { clock: handClock(clock.now()) },
  )
  const operation = await ask()
  await started.promise
  await clock.advance(LEASE_MS + 1)
  work(async () => ending('fast'))
  await until(operation, ({ doneTime }) => doneTime !== null)
  sleeping.resolve()
  while (finished.length < 2) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual((await untilDone(operation)).response, { by: 'fast' })
  const committed = await sql.query(statement`SELECT name FROM instance WHERE value = 'committed'`)
  assert.deepEqual(
    committed.map(({ name }) => name),
    ['fast'],
  )
})

for (const [how, ms] of [
  ['forward, or the machine slept', 6 * 60 * 60_000],
  ['back', -6 * 60 * 60_000],
] as const) {
  test(`a running operation is not begun a second time when the clock is set ${how}`, async (t) => {
    const { ask, work, until, untilDone, clock, newId } = await setUp(t)
    const environmentId = newId()
    const opened = gate()
    const begun: string[] = []
    // Timers do not notice that a clock is set.
    let shiftMs = 0
    const shifted = { ...clock, now: () => clock.now() + shiftMs }
    work(
      async ({ id }) => {
        begun.push(id)
        if (id === first.id) await opened.promise
        return async () => ({ response: {} })
      },
      { clock: shifted },
    )
    const first = await ask(environmentId)
    await until(first, () => begun.length === 1)
    shiftMs = ms
    const [behind, elsewhere] = [await ask(environmentId), await ask()]
    await untilDone(elsewhere)
    assert.deepEqual(begun, [first.id, elsewhere.id])
    opened.resolve()
    await untilDone(behind)
    assert.deepEqual(begun, [first.id, elsewhere.id, behind.id])
  })
}

test('an operation whose end could not be written is found again after the clock was set back', async (t) => {
  const { ask, work, untilDone, clock } = await setUp(t)
  let attempts = 0
  work(async () => async () => {
    attempts += 1
    if (attempts === 1) throw new Error('the disk is full')
    return { response: {} }
  })
  const operation = await ask()
  while (attempts === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(-6 * 60 * 60_000)
  // A request wakes the worker.
  await untilDone(await ask())
  await untilDone(operation)
  assert.equal(attempts, 3)
})

test('a cancel reaches the running handler, which says how it ends', async (t) => {
  const { ask, work, untilDone, cancel, path, clock } = await setUp(t)
  const started = gate()
  work(async (_operation, { signal }) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    throw signal.reason
  })
  const operation = await ask()
  await started.promise
  await cancel(path(operation.environmentId), operation.id)
  await clock.advance(1000)
  const { error } = await untilDone(operation)
  assert.equal(error?.code, 1)
  assert.equal(error?.details[0]?.reason, 'OPERATION_CANCELLED')
})

test('an operation cancelled while it waits reaches its handler as cancelled', async (t) => {
  const { ask, work, untilDone, cancel, path } = await setUp(t)
  const operation = await ask()
  await cancel(path(operation.environmentId), operation.id)
  work(async (_operation, { signal }) => {
    signal.throwIfAborted()
    return async () => ({ response: {} })
  })
  assert.equal((await untilDone(operation)).error?.code, 1)
})

test('an operation whose worker dies each time is given up after a few attempts', async (t) => {
  const { ask, work, untilDone, sql } = await setUp(t)
  const operation = await ask()
  await sql.transaction((tx) => tx.query(statement`UPDATE operations SET attempts = ${MAX_ATTEMPTS}`))
  work(succeed)
  assert.equal((await untilDone(operation)).error?.details[0]?.reason, 'OPERATION_ABANDONED')
})

test('a worker that stops hands its operation back, and the next one takes it at once', async (t) => {
  const { ask, work, untilDone } = await setUp(t)
  const started = gate()
  const first = work(async (_operation, { signal }) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    throw signal.reason
  })
  const operation = await ask()
  await started.promise
  const stopped = first.stop(0)
  await stopped
  work(succeed)
  assert.deepEqual((await untilDone(operation)).response, { well: true })
})

test('a worker that stops waits for a handler that ends within the grace period', async (t) => {
  const { ask, work, untilDone } = await setUp(t)
  const [started, opened] = [gate(), gate()]
  const worker = work(async () => {
    started.resolve()
    await opened.promise
    return async () => ({ response: { well: true } })
  })
  const operation = await ask()
  await started.promise
  const stopped = worker.stop(60_000)
  opened.resolve()
  await stopped
  assert.deepEqual((await untilDone(operation)).response, { well: true })
})

test('a wait returns when the operation ends, and else when its time is over', async (t) => {
  const { ask, work, operations, path, clock } = await setUp(t)
  const operation = await ask()
  const at = path(operation.environmentId)
  const never = new AbortController().signal

  const tooShort = operations.wait(at, operation.id, 500, never)
  let isOver = false
  void tooShort.then(() => {
    isOver = true
  })
  // It looks at the operation first, and then waits for the clock.
  await untilSeen(async () => {
    await clock.advance(500)
    return isOver
  })
  assert.equal((await tooShort).doneTime, null)

  const waiting = operations.wait(at, operation.id, 30_000, never)
  work(succeed)
  assert.notEqual((await waiting).doneTime, null)
})

test('a running build does not delay quick operations', async (t) => {
  const { ask, work, untilDone, newId } = await setUp(t)
  const [started, opened] = [gate(), gate()]
  const building = await ask(newId(), 'build')
  work(async ({ id }) => {
    if (id === building.id) {
      started.resolve()
      await opened.promise
    }
    return async () => ({ response: {} })
  })
  await started.promise
  await untilDone(await ask())
  opened.resolve()
  await untilDone(building)
})

test('an account with many builds waiting does not keep another one from its turn', async (t) => {
  const { ask, work, untilDone, newId, accounts, sql, operations } = await setUp(t)
  const many = [await ask(newId(), 'build'), await ask(newId(), 'build'), await ask(newId(), 'build')]
  const other = await accounts.create('other')
  const path = { accountId: other.id, appName: 'App', environmentId: newId() }
  const late = await sql.transaction((tx) => operations.request(tx, path, 'CREATE', { queue: 'build' }))
  const order: string[] = []
  const opened = gate()
  work(
    async ({ id }) => {
      order.push(id)
      if (order.length === 2) opened.resolve()
      await opened.promise
      return async () => ({ response: {} })
    },
    { concurrency: { quick: 1, light: 1, build: 2 } },
  )
  await Promise.all(many.map(untilDone))
  assert.deepEqual(order.slice(0, 2), [many[0]?.id, late.id])
})

test('an account gets a place although another account has endless work for all of them', async (t) => {
  const { ask, work, untilDone, newId, accounts, sql, operations } = await setUp(t)
  const other = await accounts.create('other')
  const endless = gate()
  const [begun, busy, served] = [new Set<string>(), gate(), gate()]
  work(
    async ({ id, accountId }) => {
      begun.add(id)
      if (begun.size === 2) busy.resolve()
      if (accountId === other.id) served.resolve()
      else await endless.promise
      return async () => ({ response: {} })
    },
    { concurrency: { quick: 1, light: 1, build: 3 } },
  )
  const many = await Promise.all(Array.from({ length: 5 }, () => ask(newId(), 'build')))
  await busy.promise
  const path = { accountId: other.id, appName: 'App', environmentId: newId() }
  await sql.transaction((tx) => operations.request(tx, path, 'CREATE', { queue: 'build' }))
  operations.announce()
  await served.promise
  assert.equal(begun.size, 3)
  endless.resolve()
  await Promise.all(many.map(untilDone))
})

test('an operation in its quiet period does not begin before its time, and delays no other', async (t) => {
  const { work, untilDone, newId, sql, operations, path, until } = await setUp(t)
  const clock = handClock()
  const environment = path(newId())
  const ask = (notBefore: number | null) =>
    sql.transaction((tx) => operations.request(tx, environment, 'CREATE', { queue: 'build', notBefore }))
  const settling = await ask(clock.now() + 5000)
  const later = await ask(null)
  const ran: string[] = []
  const opened = gate()
  work(
    async ({ id }) => {
      ran.push(id)
      if (id === later.id) await opened.promise
      return async () => ({ response: {} })
    },
    { clock, concurrency: { quick: 4, light: 1, build: 4 } },
  )
  while (ran.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(ran, [later.id])
  // It is due, but another operation of the environment runs.
  await clock.advance(6000)
  for (let turn = 0; turn < 20; turn++) await until(settling, () => true)
  assert.deepEqual(ran, [later.id])
  opened.resolve()
  await untilDone(later)
  await clock.advance(1000)
  await untilDone(settling)
  assert.deepEqual(ran, [later.id, settling.id])
})

test('a quiet period does not become longer when the clock is set back', async (t) => {
  const { work, untilDone, newId, sql, operations, path, clock } = await setUp(t)
  const notBefore = clock.now() + 6 * 3_600_000
  const settling = await sql.transaction((tx) => operations.request(tx, path(newId()), 'CREATE', { notBefore }))
  work(async () => async () => ({ response: {} }))
  assert.deepEqual((await untilDone(settling)).response, {})
})

test('an operation in its quiet period ends at once when it is cancelled', async (t) => {
  const { work, untilDone, newId, sql, operations, cancel, path, clock } = await setUp(t)
  const environment = path(newId())
  const notBefore = clock.now() + 3_600_000
  const settling = await sql.transaction((tx) => operations.request(tx, environment, 'CREATE', { notBefore }))
  work(async (_, { signal }) => async () => ({ error: signal.reason }))
  await cancel(environment, settling.id)
  assert.equal((await untilDone(settling)).error?.details[0]?.reason, 'OPERATION_CANCELLED')
})

test('a build is joined only before a worker has begun it, and unless it is cancelled', async (t) => {
  const { ask, newId, sql, operations, cancel, path } = await setUp(t)
  const environment = newId()
  const waiting = () => sql.transaction((tx) => operations.waitingBuild(tx, path(environment)))
  const first = await ask(environment, 'build')
  assert.equal((await waiting())?.id, first.id)
  // As left by a worker that stopped in the middle of it.
  await sql.transaction((tx) => tx.query(statement`UPDATE operations SET phase = 'BUILDING' WHERE id = ${first.id}`))
  assert.equal(await waiting(), undefined)
  const second = await ask(environment, 'build')
  assert.equal((await waiting())?.id, second.id)
  await cancel(path(environment), second.id)
  assert.equal(await waiting(), undefined)
})

test('an operation whose work another does ends as that one ends', async (t) => {
  const { ask, work, untilDone, newId, sql, operations } = await setUp(t)
  const environmentId = newId()
  const waiting = await ask(environmentId, 'build')
  const doing = await ask(environmentId, 'build')
  await sql.transaction((tx) => operations.satisfyBy(tx, waiting.id, doing.id))
  const ran: string[] = []
  work(async ({ id }) => {
    ran.push(id)
    return async () => ({ response: { by: id } })
  })
  assert.deepEqual((await untilDone(waiting)).response, { by: doing.id })
  assert.deepEqual(ran, [doing.id])
})

test('beyond the limit of open waits of an account a wait returns the operation at once', async (t) => {
  const { ask, operations, path, accounts, newId, sql } = await setUp(t)
  const operation = await ask()
  const at = path(operation.environmentId)
  const leaving = new AbortController()
  const waits = Array.from({ length: LIMITS.waitsAtOnce }, () =>
    operations.wait(at, operation.id, 60_000, leaving.signal),
  )
  assert.equal((await operations.wait(at, operation.id, 60_000, leaving.signal)).doneTime, null)
  const other = { accountId: (await accounts.create('other')).id, appName: 'App', environmentId: newId() }
  const theirs = await sql.transaction((tx) => operations.request(tx, other, 'CREATE'))
  let isOver = false
  const waiting = operations.wait(other, theirs.id, 60_000, leaving.signal).finally(() => {
    isOver = true
  })
  for (let turn = 0; turn < 20; turn++) await operations.require(other, theirs.id)
  assert.equal(isOver, false, 'others wait as before')
  leaving.abort()
  await Promise.all([...waits, waiting])
})

test('a page of operations ends where their responses are long, and the pages together have all of them', async (t) => {
  const { ask, operations, path, newId, sql } = await setUp(t)
  const environmentId = newId()
  const asked: string[] = []
  for (let count = 0; count < 40; count++) asked.push((await ask(environmentId)).id)
  const response = JSON.stringify({ text: 'x'.repeat(75_000) })
  await sql.transaction((tx) => tx.query(statement`UPDATE operations SET response = ${response}, done_time = 1`))
  const found: string[] = []
  let pages = 0
  for (let pageToken = ''; pages === 0 || pageToken !== ''; pages++) {
    const page = await operations.list(path(environmentId), toPage({ pageSize: 200, order: 'oldest', pageToken }))
    assert.ok(page.items.length > 0 && page.items.length <= 14)
    found.push(...page.items.map(({ id }) => id))
    pageToken = page.nextPageToken
  }
  assert.deepEqual(found, asked)
})

test('an operation that is handed on waits in the other queue as if it had never begun', async (t) => {
  const { ask, work, until, untilDone, operations, path, sql } = await setUp(t)
  const seen: string[] = []
  const free = gate()
  work(
    async (operation, { queue }) => {
      seen.push(`${operation.id} ${queue}`)
      if (queue === 'light') return async () => ({ queue: 'build' })
      await free.promise
      return async () => ({ response: {} })
    },
    { concurrency: { quick: 1, light: 1, build: 1 } },
  )
  const first = await ask(undefined, 'build')
  await until(first, () => seen.length === 1)
  const second = await ask(undefined, 'light')
  await until(second, () => seen.length === 2)
  const at = path(second.environmentId)
  const waiting = await untilSeen(() => sql.transaction((tx) => operations.waitingBuild(tx, at)))
  assert.deepEqual([waiting.id, waiting.phase, waiting.doneTime], [second.id, 'QUEUED', null])
  free.resolve()
  await untilDone(second)
  assert.deepEqual(seen, [`${first.id} build`, `${second.id} light`, `${second.id} build`])
})
