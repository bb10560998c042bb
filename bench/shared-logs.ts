/**
 * What a line of a log costs where it is a row of PostgreSQL, beside a line of a file: CPU time of this process, which is the control
 * process or a worker, and of the database.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseDatabaseAddress, systemClock } from '../src/base/index.ts'
import { createLineLogs, type LineLogs, MIGRATIONS, migrate } from '../src/storage/index.ts'
import { createSharedLogs } from '../src/storage/logs/shared/shared-logs.ts'
import { openPostgres } from '../src/storage/sql/postgres/postgres.ts'
import { HAS_POSTGRES, startPostgres } from '../test/support/postgres/server.ts'
import { type Bench, IS_QUICK, median, Skipped } from './bench.ts'
import { treeCpuMs } from './cpu.ts'
import { temporaryFolder } from './service.ts'

const ROUNDS = IS_QUICK ? 1 : 5
/** In each round, for as many logs as below: a line every millisecond of each log. */
const LINES = IS_QUICK ? 500 : 3000
const LOGS = 10

type Kind = { logs: LineLogs; costs: { own: number[]; all: number[] } }

export const sharedLogs: Bench = {
  name: 'shared-logs',
  what: `${LOGS} logs with a thousand lines a second each, as rows of PostgreSQL, beside files`,
  noise: 'CPU time by the kernel for each line, both in turns, medians of five rounds after a warm-up',
  async run() {
    if (!HAS_POSTGRES) throw new Skipped('needs PostgreSQL: apt-get install postgresql-15')
    await using stack = new AsyncDisposableStack()
    const scope = { after: (end: () => unknown) => stack.defer(async () => void (await end())) }
    const folder = stack.use(await temporaryFolder()).path
    const server = await startPostgres(scope, { isDurable: true, isSocket: true })
    const sql = await openPostgres(parseDatabaseAddress(await server.createDatabase()))
    stack.defer(() => sql.close())
    await migrate(sql, MIGRATIONS, 0)
    const rows: Kind = { logs: createSharedLogs({ sql, clock: systemClock }), costs: { own: [], all: [] } }
    const files: Kind = { logs: createLineLogs(folder), costs: { own: [], all: [] } }
    for (let round = 0; round <= ROUNDS; round++) {
      for (const kind of [rows, files]) await measure(kind, server.pid(), round)
    }
    const [ours, peer] = [rows.costs, files.costs]
    return [
      { what: 'CPU of this process for a line', unit: 'µs', ours: median(ours.own), peer: median(peer.own) },
      {
        what: 'CPU with that of the database for a line',
        unit: 'µs',
        ours: median(ours.all),
        peer: median(peer.all),
        goal: { of: 'ratio', max: 2 },
      },
    ]
  },
}

async function measure({ logs, costs }: Kind, serverPid: number, round: number) {
  const names = Array.from({ length: LOGS }, (_, at) => `runtime/${at}-${round}`)
  const options = { secrets: ['correct-horse'], whenFull: 'stop', maxBytes: 1e9 } as const
  const open = await Promise.all(names.map((name) => logs.create(name, options)))
  const before = { own: process.cpuUsage(), server: treeCpuMs(serverPid) }
  for (let line = 0; line < LINES; line += 10) {
    for (const log of open) log.write('stdout', 'LIVE', Buffer.from(`GET /products/${line} 200 12 ms\n`.repeat(10)))
    await sleep(10)
  }
  await Promise.all(open.map((log) => log.close()))
  const { user, system } = process.cpuUsage(before.own)
  const own = (user + system) / (LINES * LOGS)
  const ofServer = ((treeCpuMs(serverPid) - before.server) * 1000) / (LINES * LOGS)
  for (const name of names) {
    assert.equal(await logs.lastNumber(name), LINES)
    await logs.remove(name)
  }
  if (round === 0) return
  costs.own.push(own)
  costs.all.push(own + ofServer)
}
