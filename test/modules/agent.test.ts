/** The agent and the control process, each at its end of a socket: jobs of builds, and apps that outlive a control process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../src/contract/index.ts'
import { type Job, runToEnd } from '../../src/engines/index.ts'
import { appIn, askApp, never, openAgent, user } from '../support/machine/agent.ts'
import { LIMITS } from '../support/machine/engine.ts'
import { until } from '../support/until.ts'

const jobOf = (script: string): Job => ({
  argv: ['sh', '-c', script],
  cwd: '/',
  environment: { PATH: '/usr/bin:/bin' },
  mounts: [],
  user,
  limits: LIMITS,
})

test('a job runs under the agent: its output arrives whole before its exit', async (t) => {
  const { connect } = await openAgent(t)
  const chunks: Buffer[] = []
  const { code } = await runToEnd(
    connect().engine,
    jobOf('i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done; exit 7'),
    (_, chunk) => {
      chunks.push(chunk)
    },
    never,
  )
  assert.equal(code, 7)
  assert.equal(Buffer.concat(chunks).toString().trim().split('\n').length, 2000)
})

test('a job whose output is not taken waits', async (t) => {
  const { connect } = await openAgent(t)
  const taken = Promise.withResolvers<void>()
  let received = 0
  const running = await connect().engine.start(jobOf('head -c 20000000 /dev/zero'), (_, chunk) => {
    received += chunk.length
    return taken.promise
  })
  await until(() => received > 0)
  let isOver = false
  running.exited.then(() => {
    isOver = true
  })
  await running.listeningPorts()
  assert.equal(isOver, false)
  taken.resolve()
  await running.exited
  assert.equal(received, 20_000_000)
})

test('jobs end with the control process that asked for them', async (t) => {
  const { connect } = await openAgent(t)
  const control = connect()
  const running = await control.engine.start(jobOf('exec sleep 600'), () => undefined)
  const lost = assert.rejects(running.exited, /connection/)
  await control.stop()
  await lost
  await until(() => !isThere(running.pid))
})

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('an app that runs is taken over by the next control process, and one that is not live any more is ended', async (t) => {
  const { folder, connect } = await openAgent(t)
  const [live, cutOff] = [await appIn(folder, 'live'), await appIn(folder, 'cut-off')]
  const first = connect()
  await first.instances.start(live, { signal: never })
  await first.instances.start(cutOff, { signal: never })
  const started = await askApp(first, 'live')
  await first.stop()

  const second = connect()
  assert.deepEqual(await second.instances.adopt([live]), [])
  assert.equal(second.instances.of('live')?.state, 'RUNNING')
  assert.equal(await askApp(second, 'live'), started)
  assert.equal(second.instances.of('cut-off'), undefined)
})

test('an app that the agent does not know sleeps until it is warmed up', async (t) => {
  const { folder, connect } = await openAgent(t)
  const control = connect()
  assert.deepEqual(await control.instances.adopt([await appIn(folder, 'app')]), ['app'])
  assert.equal(control.instances.of('app')?.state, 'ASLEEP')
  await control.instances.warmUp('app')
  assert.equal(control.instances.of('app')?.state, 'RUNNING')
})

test('why an app did not start reaches the caller with its reason, and its output too', async (t) => {
  const { folder, connect } = await openAgent(t)
  const control = connect()
  const app = await appIn(folder, 'broken', "console.error('no database'); process.exit(3)")
  const written: string[] = []
  const onOutput = (_: string, chunk: Buffer) => void written.push(chunk.toString())
  await assert.rejects(control.instances.start(app, { signal: never, onOutput }), Problem)
  assert.match(written.join(''), /no database/)
  assert.equal(control.instances.holds('broken'), false)
})

test('a start that is aborted leaves nothing', async (t) => {
  const { folder, connect } = await openAgent(t)
  const control = connect()
  const stop = new AbortController()
  const refused = assert.rejects(
    control.instances.start(await appIn(folder, 'slow', 'setInterval(() => {}, 1000)'), { signal: stop.signal }),
    { message: 'cancelled' },
  )
  await until(() => control.instances.of('slow') !== undefined)
  stop.abort(new Error('cancelled'))
  await refused
  await until(() => control.instances.of('slow') === undefined)
})
