/** What leadership must do on every database. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { createLog, systemClock } from '../../src/base/index.ts'
import {
  createLeadership,
  type Election,
  LeadershipLost,
  type Sql,
  statement,
  type Term,
} from '../../src/storage/index.ts'
import { until } from '../support/until.ts'

/** A migrated database. Each call of `election` is another process's view of it. */
export type OpenElections = (t: TestContext) => Promise<{ sql: Sql; election(): Promise<Election> }>

/** A process that leads if it can, and the terms that it has had. */
export function startLeading(t: TestContext, election: Election, holder: string) {
  const events: string[] = []
  const terms: Term[] = []
  const leadership = createLeadership({ clock: systemClock, log: createLog('silent'), election, holder })
  leadership.lead((term) => {
    terms.push(term)
    events.push(`begins ${term.number}`)
    return {
      async stop() {
        events.push(`ends ${term.number}`)
      },
    }
  })
  leadership.start()
  t.after(() => leadership.stop(5000))
  return { leadership, events, terms, leads: () => until(() => leadership.term(), `${holder} leads`) }
}

export function leadershipSuite(database: string, prepare: OpenElections) {
  const write = (sql: Sql, { check, number }: Pick<Term, 'check' | 'number'>) =>
    sql.transaction(async (tx) => {
      await check(tx)
      await tx.query(statement`INSERT INTO writes (term) VALUES (${number})`)
    })
  const written = async (sql: Sql) => (await sql.query(statement`SELECT term FROM writes`)).map(({ term }) => term)
  async function open(t: TestContext) {
    const opened = await prepare(t)
    await opened.sql.transaction((tx) => tx.query(statement`CREATE TABLE writes (term BIGINT)`))
    return opened
  }

  suite(`leadership on ${database}`, () => {
    test('the work begins with a term, ends with the stop, and the next process has a higher term', async (t) => {
      const { sql, election } = await open(t)
      const one = startLeading(t, await election(), 'one')
      const { number } = await one.leads()
      await one.leadership.known
      assert.deepEqual(one.leadership.leader(), { term: number, holder: 'one' })
      await one.leadership.stop(5000)
      assert.deepEqual(one.events, [`begins ${number}`, `ends ${number}`])
      assert.equal(one.leadership.term(), undefined)
      const two = startLeading(t, await election(), 'two')
      assert.equal((await two.leads()).number, number + 1)
      const rows = await sql.query(statement`SELECT name, term, holder FROM leadership`)
      assert.deepEqual(rows, [{ name: 'control', term: number + 1, holder: 'two' }])
    })

    test('what a process writes after its term is refused, and leaves nothing', async (t) => {
      const { sql, election } = await open(t)
      const first = await (await election()).run('one')
      assert.ok('term' in first)
      const of = (lease: typeof first) => ({ check: lease.check, number: lease.term })
      await write(sql, of(first))
      await first.release()
      const second = await (await election()).run('two')
      assert.ok('term' in second)
      await assert.rejects(write(sql, of(first)), LeadershipLost)
      const late = sql.transaction(async (tx) => {
        await tx.query(statement`INSERT INTO writes (term) VALUES (${0})`)
        await first.check(tx)
      })
      await assert.rejects(late, LeadershipLost)
      await write(sql, of(second))
      assert.deepEqual(await written(sql), [first.term, second.term])
    })

    test('a term that was stopped is over', async (t) => {
      const { sql, election } = await open(t)
      const { leadership, leads } = startLeading(t, await election(), 'one')
      const term = await leads()
      await write(sql, term)
      assert.deepEqual([term.isOver(), term.signal.aborted], [false, false])
      await leadership.stop(5000)
      assert.deepEqual([term.isOver(), term.signal.aborted], [true, true])
      await assert.rejects(write(sql, term), LeadershipLost)
    })

    test('the same number of another holder is another term', async (t) => {
      const { sql, election } = await open(t)
      const lease = await (await election()).run('one')
      assert.ok('term' in lease)
      // As after a failover that lost the last commits.
      await sql.transaction((tx) => tx.query(statement`UPDATE leadership SET holder = 'two'`))
      await assert.rejects(write(sql, { check: lease.check, number: lease.term }), LeadershipLost)
    })
  })
}
