import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LEADING } from '../../../test/support/leading.ts'
import { openProcess, request, withNotices } from '../../../test/support/modules/cluster.ts'
import { migratedSql } from '../../../test/support/sql.ts'
import { startScheduler } from '../../../test/support/swarm/small-scheduler.ts'
import { until } from '../../../test/support/until.ts'
import { createChanges, systemClock } from '../../base/index.ts'
import { openLineLogs, statement } from '../../storage/index.ts'

/** A process that leads, and another one that starts apps: each has its own logs on the same database. */
async function open(t: TestContext) {
  const [first, second] = [createChanges(), createChanges()]
  const sql = withNotices(await migratedSql(t), [first, second])
  const scheduler = startScheduler(t)
  const giving = new AbortController()
  const openLogs = async () =>
    (await openLineLogs({ folder: '', sql, clock: systemClock, blobs: undefined, isMoving: false, isShared: true }))
      .logs
  const [leaderLogs, logs] = [await openLogs(), await openLogs()]
  const leader = await openProcess(t, { sql, changes: first, logs: leaderLogs })
  const other = await openProcess(t, { sql, changes: second, logs })
  function lead() {
    const leading = leader.lead({ docker: scheduler.docker, cluster: 'test' })(LEADING)
    t.after(() => leading.stop())
    return leading
  }
  const linesOf = async (environment: string) =>
    (await logs.read(`runtime/${environment}`, 0)).filter(({ stream }) => stream !== 'service').map(({ text }) => text)
  const untilLines = (environment: string, expected: readonly string[]) =>
    until(
      async () => JSON.stringify(await linesOf(environment)) === JSON.stringify(expected),
      `the log has ${expected.join(', ')}`,
    )
  const start = async (deployment: string, change = {}) => {
    const given: string[] = []
    const onOutput = async (_: string, bytes: Buffer) => void given.push(bytes.toString())
    const started = other.instances.start(request(deployment, change), { signal: giving.signal, onOutput })
    t.after(() => started.catch(() => undefined))
    started.catch(() => undefined)
    return { started, given }
  }
  const leading = lead()
  // Before the processes stop.
  t.after(() => giving.abort())
  return { sql, scheduler, lead, leading, linesOf, untilLines, start }
}

test('what an app writes is in its log, and while it is started, its starter gets it', async (t) => {
  const { scheduler, start, untilLines } = await open(t)
  scheduler.behave('one', 'mute')
  const { given } = await start('one', { onState: () => undefined })
  await until(() => scheduler.services().length === 1, 'its service is there')
  scheduler.print('one', 'first\n')
  await until(() => given.length === 1, 'the starter gets it')
  scheduler.print('one', 'second, ')
  scheduler.print('one', 'whole\n')
  await untilLines('environment-of-one', ['first', 'second, whole'])
  await until(() => given.length === 2, 'the starter gets it')
  assert.deepEqual(given, ['first\n', 'second, whole\n'])
})

test('what other deployments of the environment write is not for the starter', async (t) => {
  const { scheduler, start, untilLines } = await open(t)
  const owner = { account: 'acme', environment: 'shared' }
  await (await start('old', { owner })).started
  scheduler.behave('new', 'mute')
  const { given } = await start('new', { owner })
  await until(() => scheduler.services().length === 2, 'its service is there')
  scheduler.print('old', 'of the old one\n')
  await untilLines('shared', ['of the old one'])
  scheduler.print('new', 'of the new one\n')
  await untilLines('shared', ['of the old one', 'of the new one'])
  await until(() => given.length > 0, 'the starter gets something')
  assert.deepEqual(given, ['of the new one\n'])
})

test('the last lines of an app that ends at its start are in its log, and given before the start fails', async (t) => {
  const { scheduler, start, linesOf } = await open(t)
  scheduler.behave('one', 'crashes')
  const { started, given } = await start('one')
  await assert.rejects(started, /ended with exit code 7/)
  assert.deepEqual(given.toSorted(), ['Error: it cannot go on\n', 'it begins\n'])
  assert.deepEqual((await linesOf('environment-of-one')).toSorted(), ['Error: it cannot go on', 'it begins'])
})

test('secret values are masked, also others of a later start', async (t) => {
  const { scheduler, start, untilLines } = await open(t)
  const { log } = request('one')
  await (await start('one', { log: { ...log, secrets: ['hunter2-hunter2'] } })).started
  scheduler.print('one', 'the password is hunter2-hunter2\n')
  await untilLines('environment-of-one', ['the password is [secret]'])
  const variables = { PASSWORD: 'correct-horse' }
  await (await start('one', { variables, log: { ...log, secrets: ['correct-horse'] } })).started
  scheduler.print('one', 'now it is correct-horse\n')
  await untilLines('environment-of-one', ['the password is [secret]', 'now it is [secret]'])
})

test('the next leader goes on where the one before has stopped: no line is missing, and none is there twice', async (t) => {
  const { scheduler, start, untilLines, leading, lead, linesOf } = await open(t)
  await (await start('one')).started
  scheduler.print('one', '1\n')
  scheduler.print('one', '2\n')
  await untilLines('environment-of-one', ['1', '2'])
  await leading.stop()
  scheduler.print('one', '3\n')
  const next = lead()
  await untilLines('environment-of-one', ['1', '2', '3'])
  scheduler.print('one', '4\n')
  await untilLines('environment-of-one', ['1', '2', '3', '4'])
  await next.stop()
  lead()
  scheduler.print('one', '5\n')
  await until(async () => (await linesOf('environment-of-one')).includes('5'), 'the last line is there')
  assert.deepEqual(await linesOf('environment-of-one'), ['1', '2', '3', '4', '5'])
})

test('how far outputs were read is recorded while they are followed, and changes no number', async (t) => {
  const { sql, scheduler, start, untilLines } = await open(t)
  await (await start('one')).started
  const revision = async () => (await sql.query(statement`SELECT MAX(revision) AS last FROM cluster_apps`))[0]?.last
  const before = await revision()
  scheduler.print('one', '1\n')
  await untilLines('environment-of-one', ['1'])
  const output = async () => (await sql.query(statement`SELECT output FROM cluster_instances`))[0]?.output
  await until(async () => /"stdout"/.test(String(await output())), 'the row has it')
  assert.equal(await revision(), before)
})

test('the last lines of an app that crashes later are in its log, and the next one begins a line of its own', async (t) => {
  const { scheduler, start, linesOf } = await open(t)
  await (await start('one')).started
  scheduler.print('one', 'it runs\n')
  scheduler.print('one', 'and then', 'stdout')
  await scheduler.crash('one', 3)
  scheduler.print('one', 'it runs again\n')
  await until(async () => (await linesOf('environment-of-one')).length === 3, 'all lines are there')
  assert.deepEqual((await linesOf('environment-of-one')).toSorted(), ['and then', 'it runs', 'it runs again'])
})
