/** Logs of a cluster: several processes write one, and another follows it. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { type LogLine, MIGRATIONS, migrate, statement } from '../../../src/storage/index.ts'
import { createSharedLogs } from '../../../src/storage/logs/shared/shared-logs.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../../support/postgres/server.ts'
import { until } from '../../support/until.ts'

const PROGRAM = fileURLToPath(new URL('../../support/postgres/log-writer.ts', import.meta.url))
const NAME = 'runtime/e'

type Writer = { child: ChildProcess; ended: Promise<unknown> }

suite('logs of several processes', NEEDS_POSTGRES, () => {
  let server: Postgres
  const ends: (() => unknown)[] = []
  before(async () => {
    server = await startPostgres({ after: (end) => ends.unshift(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  async function setUp(t: TestContext) {
    const url = await server.createDatabase()
    const sql = await openPostgres(parseDatabaseAddress(url))
    t.after(() => sql.close())
    await migrate(sql, MIGRATIONS, 0)
    function start(writer: string, count: number): Writer {
      const child = fork(PROGRAM, [url, NAME, writer, String(count)])
      t.after(() => child.kill('SIGKILL'))
      // Listened for from the start: a writer may have ended before a test waits for it.
      return { child, ended: once(child, 'exit') }
    }
    return { sql, start, logs: createSharedLogs({ sql, clock: systemClock }) }
  }

  test('a follower sees every line of two writers once, in the order of each', async (t) => {
    const { start, logs } = await setUp(t)
    const COUNT = 3000
    const writers = ['one', 'two'].map((writer) => start(writer, COUNT))
    let isOver = false
    Promise.all(writers.map(({ ended }) => ended)).then(() => {
      isOver = true
    })
    const seen: LogLine[] = []
    for await (const line of logs.follow(NAME, 0, async () => isOver, t.signal)) seen.push(line)
    assert.deepEqual(
      seen.map(({ number }) => number),
      upTo(2 * COUNT),
    )
    for (const writer of ['one', 'two']) assert.deepEqual(linesOf(seen, writer), upTo(COUNT))
    assert.deepEqual(await logs.read(NAME, 0), seen)
  })

  test('a writer that is killed loses its last lines only, and another one goes on after it', async (t) => {
    const { sql, start, logs } = await setUp(t)
    const killed = start('killed', 1_000_000)
    await until(async () => (await logs.lastNumber(NAME)) > 500)
    killed.child.kill('SIGKILL')
    await killed.ended
    await start('next', 100).ended
    const lines = await logs.read(NAME, 0)
    assert.deepEqual(
      lines.map(({ number }) => number),
      upTo(lines.length),
    )
    const before = linesOf(lines, 'killed')
    assert.deepEqual(before, upTo(before.length))
    assert.deepEqual(linesOf(lines, 'next'), upTo(100))
    const [row] = await sql.query<{ bytes: number; last_number: number }>(
      statement`SELECT SUM(bytes) AS bytes, MAX(last_number) AS last_number FROM log_chunks WHERE log_name = ${NAME}`,
    )
    assert.deepEqual(row, { bytes: await logs.bytesOf(NAME), last_number: await logs.lastNumber(NAME) })
  })

  test('a log goes on where the database comes back, without a line that is lost or twice', async (t) => {
    const { start, logs } = await setUp(t)
    const COUNT = 20_000
    const { child, ended } = start('one', COUNT)
    await until(async () => (await logs.lastNumber(NAME)) > 500)
    await server.stop()
    assert.equal(child.exitCode, null, 'the writer was to be at work while the database was away')
    await server.start()
    await ended
    assert.deepEqual(linesOf(await logs.read(NAME, 0), 'one'), upTo(COUNT))
  })
})

/** The numbers that a writer gave its lines, in the order of the log. */
const linesOf = (lines: readonly LogLine[], writer: string): number[] =>
  lines.filter(({ text }) => text.startsWith(`${writer} `)).map(({ text }) => Number(text.split(' ')[1]))

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)
