import assert from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import { leadershipSuite, startLeading } from '../../../../test/suites/leadership.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../../../../test/support/postgres/server.ts'
import { until } from '../../../../test/support/until.ts'
import { parseDatabaseAddress } from '../../../base/index.ts'
import { type LeaderLease, LeadershipLost } from '../../leadership/election.ts'
import { migrate } from '../migrate.ts'
import { MIGRATIONS } from '../migrations/index.ts'
import { type Sql, statement, type Transaction } from '../sql.ts'
import { createElection } from './election.ts'
import { openPostgres } from './postgres.ts'

suite('with a server', NEEDS_POSTGRES, () => {
  let server: Postgres
  let template: string
  const ends: (() => unknown)[] = []
  before(async () => {
    server = await startPostgres({ after: (end) => ends.unshift(end) })
    template = await server.createDatabase()
    const sql = await openPostgres(parseDatabaseAddress(template))
    await migrate(sql, MIGRATIONS, 0)
    await sql.close()
  })
  after(async () => {
    for (const end of ends) await end()
  })

  async function prepare(t: TestContext) {
    const url = await server.createDatabase(template)
    const sql = await openPostgres(parseDatabaseAddress(url))
    t.after(() => sql.close())
    return {
      url,
      sql,
      async election() {
        const election = createElection(parseDatabaseAddress(url))
        t.after(() => election.close())
        return election
      },
    }
  }
  leadershipSuite('PostgreSQL', prepare)

  type Prepared = Awaited<ReturnType<typeof prepare>>
  async function lease({ election }: Prepared, holder: string): Promise<LeaderLease> {
    const result = await (await election()).run(holder)
    assert.ok('term' in result, `${holder} does not lead`)
    return result
  }

  /** A transaction that stays open until it is told to go on. */
  function openTransaction(sql: Sql, begin: (tx: Transaction) => Promise<unknown>) {
    const begun = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const done = sql.transaction(async (tx) => {
      await begin(tx)
      begun.resolve()
      await goOn.promise
      await tx.query(statement`INSERT INTO holds (id, until) VALUES ('late', 0)`)
    })
    done.catch(() => undefined)
    return { begun: begun.promise, goOn: goOn.resolve, done }
  }
  const isWaiting = (url: string) =>
    server.psql(`SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`, url).then((n) => n !== '0')
  const lates = (sql: Sql) => sql.query(statement`SELECT id FROM holds`)

  test('of two processes one leads, the other knows it and leads after its stop', async (t) => {
    const { election } = await prepare(t)
    const one = startLeading(t, await election(), 'one')
    const { number } = await one.leads()
    const two = startLeading(t, await election(), 'two')
    await two.leadership.known
    assert.deepEqual(two.leadership.leader(), { term: number, holder: 'one' })
    assert.equal(two.leadership.term(), undefined)
    await one.leadership.stop(5000)
    assert.equal((await two.leads()).number, number + 1)
  })

  test('of many that begin together one leads', async (t) => {
    const { election } = await prepare(t)
    const elections = await Promise.all(Array.from({ length: 8 }, election))
    const results = await Promise.all(elections.map((one, index) => one.run(`process ${index}`)))
    assert.deepEqual(
      results.filter((result) => 'term' in result).map(({ term }) => term),
      [1],
    )
  })

  test('a renewal passes beside a fenced transaction, and a new term waits for it', async (t) => {
    const prepared = await prepare(t)
    const { sql, url } = prepared
    const first = await lease(prepared, 'one')
    const open = openTransaction(sql, first.check)
    await open.begun
    assert.equal(await first.renew?.(), true)
    await first.release()
    const next = lease(prepared, 'two')
    await until(() => isWaiting(url), 'the new term waits')
    assert.deepEqual(await sql.query(statement`SELECT term FROM leadership`), [{ term: first.term }])
    open.goOn()
    await open.done
    assert.equal((await next).term, first.term + 1)
    assert.deepEqual(await lates(sql), [{ id: 'late' }])
    assert.equal(await first.renew?.().catch(() => false), false)
  })

  test('a renewal after the beginning of a transaction is no conflict for it', async (t) => {
    const prepared = await prepare(t)
    const first = await lease(prepared, 'one')
    let attempts = 0
    await prepared.sql.transaction(async (tx) => {
      attempts += 1
      await tx.query(statement`SELECT term FROM leadership`)
      await first.renew?.()
      await first.check(tx)
      await first.renew?.()
    })
    assert.equal(attempts, 1)
  })

  test('a transaction that began before a new term, and checks after it, is refused', async (t) => {
    const prepared = await prepare(t)
    const { sql } = prepared
    const first = await lease(prepared, 'one')
    const goOn = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const late = sql.transaction(async (tx) => {
      // Its snapshot has the old term, and so does what it reads without a lock.
      const [row] = await tx.query(statement`SELECT term FROM leadership`)
      begun.resolve()
      await goOn.promise
      await first.check(tx)
      await tx.query(statement`INSERT INTO holds (id, until) VALUES (${`late ${row?.term}`}, 0)`)
    })
    await begun.promise
    await first.release()
    await lease(prepared, 'two')
    goOn.resolve()
    await assert.rejects(late, LeadershipLost)
    assert.deepEqual(await lates(sql), [])
  })

  test('a fenced transaction of a process that is frozen is ended by the server, and refused later', async (t) => {
    const prepared = await prepare(t)
    const { sql } = prepared
    const first = await lease(prepared, 'one')
    const open = openTransaction(sql, first.check)
    await open.begun
    await first.release()
    // The first attempts may give up before the server has ended it.
    const two = startLeading(t, await prepared.election(), 'two')
    assert.equal((await two.leads()).number, first.term + 1)
    open.goOn()
    await assert.rejects(open.done, LeadershipLost)
    assert.deepEqual(await lates(sql), [])
  })

  test('a leader whose session is ended stops its work at once, and another term begins', async (t) => {
    const { url, election } = await prepare(t)
    const one = startLeading(t, await election(), 'one')
    const { number } = await one.leads()
    const two = startLeading(t, await election(), 'two')
    await two.leadership.known
    await server.psql(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = ${0x4846}`,
      url,
    )
    await until(() => one.events.includes(`ends ${number}`))
    const next = await until(() => one.leadership.term() ?? two.leadership.term())
    assert.equal(next.number, number + 1)
  })

  test('a leader whose row another one has taken notices it with its next renewal', async (t) => {
    const { sql, election } = await prepare(t)
    const one = startLeading(t, await election(), 'one')
    const { number } = await one.leads()
    await sql.transaction((tx) => tx.query(statement`UPDATE leadership SET term = term + 1, holder = 'two'`))
    await until(() => one.events.includes(`ends ${number}`))
    // No session has the lock of that term.
    await until(() => one.events.includes(`begins ${number + 2}`))
  })

  test('after a stop no session is left', async (t) => {
    const { url, sql, election } = await prepare(t)
    const one = startLeading(t, await election(), 'one')
    await one.leads()
    await one.leadership.stop(5000)
    await sql.close()
    await until(
      async () =>
        (await server.psql(
          `SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'headland' AND datname = current_database()`,
          url,
        )) === '0',
    )
  })
})
