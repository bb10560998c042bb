/** Several instances of an app under the agent. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Caller, connectPeer, createCaller, type Frame, PROTOCOL } from '../../src/channel/index.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent, InstanceReport } from '../../src/edge/index.ts'
import { appIn, never, openAgent } from '../support/machine/agent.ts'
import { until } from '../support/until.ts'

/** An edge that knows where instances are, and reports the load that it is told to. */
async function connectEdge(t: TestContext, path: string) {
  const greeting = { protocol: PROTOCOL, role: 'edge', process: 'an edge of the test', version: 'test' }
  const peer = await connectPeer<Frame, Frame>(path, greeting)
  const reports = new Map<string, InstanceReport | null>()
  const methods: EdgeMethodsForAgent = {
    setInstances(sent) {
      for (const [deployment, report] of Object.entries(sent.reports)) reports.set(deployment, report)
    },
    drain: async () => undefined,
    useGateway: () => undefined,
    isSite: () => false,
  }
  const agent: Caller<AgentMethodsForEdge> = createCaller<AgentMethodsForEdge>(peer, methods)
  t.after(() => agent.close())
  const addressesOf = (deployment: string) => {
    const report = reports.get(deployment)
    return report?.state === 'running' ? report.instances : []
  }
  return { agent, addressesOf }
}

async function startApp(t: TestContext, scaling: { minInstances: number; maxInstances: number }, script?: string) {
  const { folder, path, connect } = await openAgent(t)
  const { instances } = connect()
  const edge = await connectEdge(t, path)
  const app = { ...(await appIn(folder, 'app', script)), scaling: { ...scaling, requestsPerInstance: 10 } }
  await instances.start(app, { signal: never })
  return { instances, edge, running: () => edge.addressesOf('app') }
}

test('an app gets further instances while its instances are busy, and the edge learns of each', async (t) => {
  const { edge, instances, running } = await startApp(t, { minInstances: 0, maxInstances: 3 })
  assert.equal(running().length, 1)
  edge.agent.notify('load', { app: 100 })
  await until(() => running().length === 3)
  assert.equal(instances.of('app')?.running, 3)
  const answers = await Promise.all(
    running().map(async ({ host, port }) => (await fetch(`http://${host}:${port}/`)).text()),
  )
  assert.equal(new Set(answers).size, 3)
})

test('an app that is started again while it ends is held, with its new request', async (t) => {
  const { folder, connect } = await openAgent(t)
  const { instances } = connect()
  const states: string[] = []
  const app = await appIn(folder, 'app')
  await instances.start(app, { signal: never })
  const ended = instances.retire('app')
  await instances.start({ ...app, onState: () => void states.push('again') }, { signal: never })
  await ended
  assert.ok(instances.holds('app'))
  assert.equal(instances.of('app')?.state, 'RUNNING')
  assert.ok(states.length > 0)
})

test('a new maximum takes instances away, and never the first', async (t) => {
  const { instances, running } = await startApp(t, { minInstances: 2, maxInstances: 2 })
  await until(() => running().length === 2)
  const [first] = running()
  await instances.setScaling('app', { minInstances: 0, maxInstances: 1, requestsPerInstance: 10 })
  await until(() => running().length === 1)
  assert.deepEqual(running(), [first])
})

test('an instance that crashes is started again, and the others stay', async (t) => {
  const { instances, running } = await startApp(t, { minInstances: 3, maxInstances: 3 }, CRASHING)
  await until(() => running().length === 3)
  const [first, second, third] = running()
  await fetch(`http://${second?.host}:${second?.port}/crash`).catch(() => undefined)
  await until(() => instances.of('app')?.restarts === 1)
  assert.equal(instances.of('app')?.state, 'RUNNING')
  await until(() => running().length === 3)
  const now = running().map(({ instance }) => instance)
  assert.ok(first && now.includes(first.instance))
  assert.ok(third && now.includes(third.instance))
  assert.ok(second && !now.includes(second.instance))
})

const CRASHING = `require('node:http')
  .createServer((request, response) => (request.url === '/crash' ? process.exit(1) : response.end('ok')))
  .listen(process.env.PORT, process.env.HOST)`

test('an account without memory for it gets no further instance, and the log of the app says so', async (t) => {
  const { folder, logs, path, connect } = await openAgent(t, { apps: 0, memoryBytes: 1 })
  const { instances } = connect()
  const edge = await connectEdge(t, path)
  const scaling = { minInstances: 2, maxInstances: 2, requestsPerInstance: 10 }
  await instances.start({ ...(await appIn(folder, 'app')), scaling }, { signal: never })
  await until(async () => (await logs.read('app', 0)).some(({ text }) => /no memory for a further instance/.test(text)))
  assert.equal(edge.addressesOf('app').length, 1)
})

test('all instances end with their deployment', async (t) => {
  const { instances, running } = await startApp(t, { minInstances: 3, maxInstances: 3 })
  await until(() => running().length === 3)
  const addresses = running()
  await instances.retire('app')
  assert.equal(instances.holds('app'), false)
  for (const { host, port } of addresses) await assert.rejects(fetch(`http://${host}:${port}/`))
})
