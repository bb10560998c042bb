import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { lineLogsSuite } from '../../../../test/suites/line-logs.ts'
import { recordLogsSuite } from '../../../../test/suites/record-logs.ts'
import { openStoredLogs } from '../../../../test/suites/stored-logs.ts'
import { BUCKET, KEYS, startS3Server } from '../../../../test/support/object-store/s3-server.ts'
import { migratedSql } from '../../../../test/support/sql.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../../../base/index.ts'
import { DatabaseAway, type Sql, StorageUnavailable, statement } from '../../sql/sql.ts'
import { readHead } from './heads.ts'
import { createSharedLogs } from './shared-logs.ts'

const open = async (t: TestContext) => createSharedLogs({ sql: await migratedSql(t), clock: systemClock })

lineLogsSuite('rows', {
  open,
  async openUnwritable(t) {
    const sql = await migratedSql(t)
    let isFull = true
    const full: Sql = {
      ...sql,
      transaction: (work, options) =>
        isFull ? Promise.reject(new StorageUnavailable('the disk is full')) : sql.transaction(work, options),
    }
    return {
      logs: createSharedLogs({ sql: full, clock: systemClock }),
      async mend() {
        isFull = false
      },
    }
  },
})

recordLogsSuite('rows', async (t) => {
  const sql = await migratedSql(t)
  const logs = createSharedLogs({ sql, clock: systemClock })
  async function parts() {
    const head = await readHead(sql, 'requests/e1')
    const found: ('newer' | 'older')[] = []
    if (head && head.open_bytes > 0) found.push('newer')
    if (head && head.closed_bytes > 0) found.push('older')
    return found
  }
  return { logs, parts }
})

const NAME = 'runtime/e'
const APP = { secrets: [], whenFull: 'rotate', maxBytes: 1_000_000 } as const

const numbersIn = (lines: readonly { number: number }[]): number[] => lines.map(({ number }) => number)
const textsIn = (lines: readonly { text: string }[]): string[] => lines.map(({ text }) => text)
const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)

/** A database, and the logs of as many processes as the test needs. */
async function setUp(t: TestContext) {
  const sql = await migratedSql(t)
  return { sql, logsOfProcess: (own: Sql = sql) => createSharedLogs({ sql: own, clock: systemClock }) }
}

test('lines that two processes add at the same time have numbers of their own', async (t) => {
  const { logsOfProcess } = await setUp(t)
  const logs = [logsOfProcess(), logsOfProcess()]
  const writers = await Promise.all(logs.map((one) => one.create(NAME, APP)))
  for (let round = 1; round <= 10; round++) {
    for (const [at, writer] of writers.entries()) writer.say('', `${at} ${round}`)
    await Promise.all(writers.map((writer) => writer.linesAfter(0)))
  }
  for (const writer of writers) await writer.close()
  const [lines, other] = await Promise.all(logs.map((one) => one.read(NAME, 0)))
  assert.deepEqual(numbersIn(lines ?? []), upTo(20))
  assert.deepEqual(lines, other)
})

test('the line that proves a failure is found by the number that it got', async (t) => {
  const { logsOfProcess } = await setUp(t)
  const [one, other] = [logsOfProcess(), logsOfProcess()]
  const log = await one.create(NAME, APP)
  const before = await other.create(NAME, APP)
  before.say('', 'earlier')
  await before.close()
  log.write('stderr', '', Buffer.from('Error: no moon\n'))
  await log.linesAfter(0)
  log.say('', 'quiet')
  const number = log.provingLine(1)
  await log.close()
  assert.equal((await other.read(NAME, 0)).find((line) => line.number === number)?.text, 'Error: no moon')
})

test('lines whose commit was not answered are not written twice', async (t) => {
  const { sql, logsOfProcess } = await setUp(t)
  let isCut = true
  const logs = logsOfProcess({
    ...sql,
    async transaction(work, options) {
      const result = await sql.transaction(work, options)
      if (!isCut) return result
      isCut = false
      throw new DatabaseAway('the connection was lost during a commit')
    },
  })
  const log = await logs.create(NAME, APP)
  log.say('', 'one')
  await log.linesAfter(0)
  assert.equal(isCut, false)
  log.say('', 'two')
  await log.close()
  assert.deepEqual(textsIn(await logs.read(NAME, 0)), ['one', 'two'])
  assert.deepEqual(numbersIn(await logs.read(NAME, 0)), [1, 2])
})

test('many lines that come one by one are few rows', async (t) => {
  const { sql, logsOfProcess } = await setUp(t)
  const logs = logsOfProcess()
  const log = await logs.create(NAME, APP)
  for (let line = 1; line <= 200; line++) {
    log.say('', `line ${line}`)
    await log.linesAfter(line)
  }
  await log.close()
  const [row] = await sql.query<{ count: number }>(statement`SELECT COUNT(*) AS count FROM log_chunks`)
  assert.ok((row?.count ?? 0) <= 200 / 64 + 64, `${row?.count} rows`)
  assert.deepEqual(numbersIn(await logs.read(NAME, 0)), upTo(200))
  assert.deepEqual(numbersIn(await logs.read(NAME, 100)), upTo(200).slice(100))
})

test('a log that writes without end costs few transactions, and does not hold up another one', async (t) => {
  const { sql, logsOfProcess } = await setUp(t)
  let transactions = 0
  const logs = logsOfProcess({
    ...sql,
    transaction(work, options) {
      transactions += 1
      return sql.transaction(work, options)
    },
  })
  const busy = await logs.openRecords('requests/busy', 8_000_000)
  const quiet = await logs.create(NAME, APP)
  const reader = logsOfProcess().follow(NAME, 0, async () => false, t.signal)
  let lines = 0
  let isOver = false
  const flood = (async () => {
    for (; !isOver; await new Promise(setImmediate))
      for (let more = 0; more < 100; more++) if (busy.add({ time: Date.now() })) lines += 1
  })()
  for (let line = 1; line <= 5; line++) {
    quiet.say('', `line ${line}`)
    assert.equal((await reader.next()).value?.number, line)
  }
  isOver = true
  await flood
  await Promise.all([busy.close(), quiet.close()])
  assert.ok(lines > 100 * transactions, `${lines} lines in ${transactions} transactions`)
  assert.equal((await logs.read(NAME, 0)).length, 5)
})

test('a log that is moved to the object store while it is written is followed and read without a gap', async (t) => {
  const server = await startS3Server(t)
  const store = { endpoint: server.endpoint, region: server.region, bucket: BUCKET, ...KEYS }
  const { logs, moving, stored } = await openStoredLogs(t, { store, kind: 'rows' })
  const log = await logs.create(NAME, { ...APP, maxBytes: 8000 })
  const seen: number[] = []
  const leaving = new AbortController()
  const following = (async () => {
    for await (const { number } of logs.follow(NAME, 0, async () => false, leaving.signal)) seen.push(number)
  })()
  for (let round = 1; round <= 30; round++) {
    for (let line = 0; line < 10; line++) log.say('', `round ${round}`)
    const moved = moving.moveClosed(NAME)
    await until(() => seen.length === round * 10)
    await moved
    const read = numbersIn(await logs.read(NAME, 0))
    assert.deepEqual(read, upTo(round * 10).slice(-read.length))
  }
  leaving.abort()
  await following
  await log.close()
  assert.deepEqual(seen, upTo(300))
  assert.equal((await stored.of(NAME)).length, 1)
})
