/** The output of apps in their logs, on a real swarm and a real PostgreSQL; leaders are replaced and killed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges, parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { MIGRATIONS, migrate, openLineLogs, statement } from '../../../src/storage/index.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import type { Swarm } from '../../support/machine/swarm.ts'
import { openProcess, request } from '../../support/modules/cluster.ts'
import type { AppImage } from '../../support/swarm/image.ts'
import { ownDatabase, scope, sharedImage, sharedSwarm, skip } from '../../support/swarm/shared.ts'
import { startRowsLeader } from '../../support/swarm/start-rows-leader.ts'
import { until } from '../../support/until.ts'

const swarm = skip ? ({} as Swarm) : await sharedSwarm()
const image = skip ? ({} as AppImage) : await sharedImage()
const databaseUrl = skip ? '' : await ownDatabase()
const process1 = skip ? undefined : await openFirst()

/** The process that starts apps: it never leads. */
async function openFirst() {
  const changes = createChanges()
  const sql = await openPostgres(parseDatabaseAddress(databaseUrl), {
    onChange: changes.notify,
    onEverything: changes.notifyEverything,
  })
  scope.after(() => sql.close())
  await migrate(sql, MIGRATIONS, systemClock.now())
  const shared = { folder: '', sql, clock: systemClock, blobs: undefined, isMoving: false, isShared: true }
  const { logs } = await openLineLogs(shared)
  const { instances, edge } = await openProcess(scope, { sql, changes, logs, imageOf: async () => image.image })
  return { instances, logs, sql, edge: await edge() }
}

function first() {
  assert.ok(process1)
  return process1
}

const startLeader = (holder: string) =>
  startRowsLeader(scope, swarm, { databaseUrl, cluster: 'outputs', idleMs: 3_600_000, holder })

const { signal } = new AbortController()

function start(deployment: string, variables: Record<string, string> = {}, secrets: readonly string[] = []) {
  const own = request(deployment, {
    variables,
    argv: image.command,
    owner: { account: 'acme', environment: deployment },
  })
  const given: string[] = []
  const onOutput = async (_: string, bytes: Buffer) => void given.push(bytes.toString())
  const started = first().instances.start({ ...own, log: { ...own.log, secrets } }, { signal, onOutput })
  return { started, given }
}

const visit = (deployment: string, path: string) =>
  until(async () => {
    const [url = ''] = first().edge.addressesOf(deployment)
    return url && (await swarm.visit(url + path))?.status === 200
  }, `${deployment} answers ${path}`)

const linesOf = async (deployment: string): Promise<string[]> => {
  const lines = await first().logs.read(`runtime/${deployment}`, 0)
  return lines.filter(({ stream }) => stream !== 'service').map(({ text }) => text)
}
const untilLine = (deployment: string, line: string) =>
  until(async () => (await linesOf(deployment)).includes(line), `the log has ${line}`)
const linesTo = (last: number) => Array.from({ length: last }, (_, at) => `line ${at + 1}`)

let leader: Awaited<ReturnType<typeof startLeader>>

test('a line of an app on a node is in its log, without what is secret', { skip }, async () => {
  leader = await startLeader('one')
  await leader.leads()
  const { started, given } = start('app', { SAYS: 'the password is hunter2-hunter2\n' }, ['hunter2-hunter2'])
  await started
  await untilLine('app', 'the password is [secret]')
  await visit('app', '/write?1:100:stdout')
  await untilLine('app', 'line 100')
  assert.deepEqual(await linesOf('app'), ['the password is [secret]', ...linesTo(100)])
  assert.equal(given.join('').includes('hunter2'), false)
})

test('the last lines of an app that ends at its start are in its log, and in the output of the start', {
  skip,
}, async () => {
  const { started, given } = start('crashing', { SAYS: 'it begins as %id\nError: it cannot go on', CRASH: '42' })
  await assert.rejects(started, /ended with exit code 42 before it answered/)
  // Swarm may have started it again meanwhile.
  for (const lines of [given.map((line) => line.trimEnd()), await linesOf('crashing')]) {
    const begins = lines.filter((line) => line.startsWith('it begins as '))
    assert.ok(begins.length > 0)
    assert.equal(new Set(begins).size, begins.length, 'none of them twice')
    const errors = lines.filter((line) => line === 'Error: it cannot go on').length
    // One that Swarm has started again may still be at its first line.
    assert.ok(errors === begins.length || (errors > 0 && errors === begins.length - 1), lines.join('\n'))
  }
})

test('another leader goes on: no line is there twice, and none is missing', { skip }, async () => {
  await start('taken').started
  await first().edge.untilTold('taken', 'running')
  await visit('taken', '/write?1:300:stdout')
  await untilLine('taken', 'line 300')
  const next = await startLeader('two')
  await Promise.all([leader.stop(), visit('taken', '/write?301:600:stdout')])
  await next.leads()
  await untilLine('taken', 'line 600')
  await visit('taken', '/write?601:700:stdout')
  await untilLine('taken', 'line 700')
  assert.deepEqual(await linesOf('taken'), linesTo(700))
  leader = next
})

test('after a leader was killed, what it had recorded is not there twice, and nothing is missing', {
  skip,
}, async () => {
  const outputs = async () =>
    (await first().sql.query(statement`SELECT output FROM cluster_instances WHERE deployment = 'taken'`))[0]?.output
  const before = await outputs()
  await visit('taken', '/write?701:900:stdout')
  await untilLine('taken', 'line 900')
  // What was read last is recorded when it does not change any more.
  let last = before
  await until(async () => {
    const now = await outputs()
    const isSame = now === last && now !== before
    last = now
    await new Promise((resolve) => setTimeout(resolve, 2500))
    return isSame
  }, 'it is recorded')
  const next = await startLeader('three')
  await Promise.all([leader.kill(), visit('taken', '/write?901:1000:stdout')])
  await next.leads()
  await untilLine('taken', 'line 1000')
  await visit('taken', '/write?1001:1100:stdout')
  await untilLine('taken', 'line 1100')
  const lines = await linesOf('taken')
  assert.deepEqual([...new Set(lines)], linesTo(1100))
  assert.deepEqual(lines.slice(0, 900), linesTo(900))
})
