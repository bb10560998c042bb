/**
 * Two processes on one PostgreSQL, of which one leads. It is killed, frozen or cut off, or the database is started again: then
 * another term begins, and no write of an earlier term is recorded after it.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseDatabaseAddress } from '../../../src/base/index.ts'
import { MIGRATIONS, migrate, type Sql, statement } from '../../../src/storage/index.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import type { LeaderCommand, LeaderEvent } from '../../support/postgres/leader-process.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../../support/postgres/server.ts'
import { until } from '../../support/until.ts'

const PROGRAM = fileURLToPath(new URL('../../support/postgres/leader-process.ts', import.meta.url))

type Event = LeaderEvent & { of: string }

suite('two processes on one database', NEEDS_POSTGRES, () => {
  let server: Postgres
  const ends: (() => unknown)[] = []
  before(async () => {
    server = await startPostgres({ after: (end) => ends.unshift(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  async function open(t: TestContext) {
    const url = await server.createDatabase()
    const sql = await openPostgres(parseDatabaseAddress(url))
    t.after(() => sql.close())
    await migrate(sql, MIGRATIONS, 0)
    await sql.transaction(async (tx) => {
      await tx.query(statement`CREATE SEQUENCE write_numbers`)
      await tx.query(statement`CREATE TABLE writes (number BIGINT PRIMARY KEY, term BIGINT, note TEXT)`)
    })
    const events: Event[] = []
    async function start(name: string, at = url) {
      const child = fork(PROGRAM, [at, name])
      child.on('message', (event: LeaderEvent) => events.push({ ...event, of: name }))
      t.after(() => end(child))
      return {
        name,
        kill: (signal: NodeJS.Signals) => child.kill(signal),
        tell: (command: LeaderCommand) => void child.send(command),
        begins: (after = 0) => termOf(name, 'begins', after),
        ends: (after = 0) => termOf(name, 'ends', after),
      }
    }
    /** Of the first such event with a higher term. */
    const termOf = (name: string | undefined, kind: LeaderEvent['kind'], after: number): Promise<number> =>
      until(
        () =>
          events
            .filter((event) => event.kind === kind && 'term' in event && (name === undefined || event.of === name))
            .map((event) => ('term' in event ? event.term : 0))
            .find((term) => term > after),
        `${name ?? 'one'} ${kind} after term ${after}`,
      )
    const isWritten = (term: number) =>
      until(
        async () => (await rows(sql).catch(() => [])).some((row) => row.term === term),
        `something of term ${term} is written`,
      )
    return { url, sql, events, start, termOf, isWritten }
  }
  const rows = (sql: Sql) =>
    sql.query<{ term: number; note: string }>(statement`SELECT term, note FROM writes ORDER BY number`)

  /** The numbers of writes rise, and so do their terms. */
  async function assertInOrder(sql: Sql) {
    const terms = (await rows(sql)).map(({ term }) => term)
    assert.deepEqual(
      terms,
      terms.toSorted((a, b) => a - b),
    )
  }

  test('a leader that is killed is replaced', async (t) => {
    const { sql, start, isWritten } = await open(t)
    const one = await start('one')
    const term = await one.begins()
    const two = await start('two')
    await isWritten(term)
    one.kill('SIGKILL')
    assert.equal(await two.begins(), term + 1)
    await isWritten(term + 1)
    const again = await start('again')
    two.kill('SIGKILL')
    assert.equal(await again.begins(), term + 2)
    await isWritten(term + 2)
    await assertInOrder(sql)
  })

  test('a leader that is frozen is replaced; when it goes on, what it writes is refused, and it notices', async (t) => {
    const { sql, events, start, isWritten } = await open(t)
    const one = await start('one')
    const term = await one.begins()
    const two = await start('two')
    await isWritten(term)
    one.tell('hold')
    await until(() => events.some(({ kind }) => kind === 'holds'))
    one.kill('SIGSTOP')
    assert.equal(await two.begins(), term + 1)
    await isWritten(term + 1)
    one.tell('goOn')
    one.kill('SIGCONT')
    assert.equal(await one.ends(), term)
    await until(() => events.some(({ of, kind }) => of === 'one' && kind === 'refused'))
    assert.deepEqual(
      events.filter(({ kind }) => kind === 'late' || kind === 'failed'),
      [],
    )
    // The other one goes on, and this one can lead again after it.
    two.kill('SIGKILL')
    assert.equal(await one.begins(term), term + 2)
    await isWritten(term + 2)
    await assertInOrder(sql)
    assert.deepEqual(
      (await rows(sql)).filter(({ note }) => note === 'late'),
      [],
    )
  })

  test('a leader that is cut off from the database stops by itself, and is replaced', async (t) => {
    const { url, sql, start, isWritten } = await open(t)
    const proxy = await startProxy(t, url)
    const one = await start('one', proxy.url)
    const term = await one.begins()
    const two = await start('two')
    await isWritten(term)
    proxy.cut()
    assert.equal(await one.ends(), term)
    assert.equal(await two.begins(), term + 1)
    await isWritten(term + 1)
    proxy.mend()
    two.kill('SIGKILL')
    assert.equal(await one.begins(term), term + 2)
    await isWritten(term + 2)
    await assertInOrder(sql)
  })

  test('after a restart of the database one of them leads, with a higher term', async (t) => {
    const { sql, start, termOf, isWritten } = await open(t)
    await start('one')
    await start('two')
    let term = await termOf(undefined, 'begins', 0)
    for (let time = 0; time < 2; time++) {
      await isWritten(term)
      await server.stop()
      await termOf(undefined, 'ends', term - 1)
      await server.start()
      term = await termOf(undefined, 'begins', term)
      await isWritten(term)
    }
    await assertInOrder(sql)
  })
})

async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
