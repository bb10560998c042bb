/** An agent takes the place of another one, whose apps go on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appIn, askApp, never, openAgent } from '../support/machine/agent.ts'
import { until } from '../support/until.ts'

const CRASHING = `
  const started = String(Math.random())
  require('node:http')
    .createServer((request, response) => (request.url === '/crash' ? process.exit(1) : response.end(started)))
    .listen(process.env.PORT, process.env.HOST)`

test('an app goes on in its process, and the agent that has started it ends with the app', async (t) => {
  const { folder, agent, connect, replace } = await openAgent(t)
  const control = connect()
  await control.instances.start(await appIn(folder, 'app'), { signal: never })
  const started = await askApp(control, 'app')
  await replace()
  await until(() => control.instances.of('app')?.state === 'RUNNING')
  assert.equal(await askApp(control, 'app'), started)
  let isOver = false
  agent.replaced.then(() => {
    isOver = true
  })
  await control.instances.retire('app')
  await until(() => isOver)
})

test('an app that crashes is started again by the new agent, and counts its restarts on', async (t) => {
  const { folder, agent, connect, replace } = await openAgent(t)
  const control = connect()
  await control.instances.start(await appIn(folder, 'app', CRASHING), { signal: never })
  const started = await askApp(control, 'app')
  await replace()
  await until(() => control.instances.of('app')?.state === 'RUNNING')
  const { host, port } = control.instances.of('app')?.instance ?? assert.fail('no instance answers')
  await fetch(`http://${host}:${port}/crash`).catch(() => undefined)
  await until(() => control.instances.of('app')?.restarts === 1 && control.instances.of('app')?.state === 'RUNNING')
  assert.notEqual(await askApp(control, 'app'), started)
  await agent.replaced
})

test('all instances of an app go on, and those that are too many are taken away by the new agent', async (t) => {
  const { folder, connect, replace } = await openAgent(t)
  const control = connect()
  const scaling = { minInstances: 3, maxInstances: 3, requestsPerInstance: 10 }
  await control.instances.start({ ...(await appIn(folder, 'app')), scaling }, { signal: never })
  await until(() => control.instances.of('app')?.running === 3)
  await replace()
  await until(() => control.instances.of('app')?.running === 3)
  await control.instances.setScaling('app', { ...scaling, minInstances: 1, maxInstances: 1 })
  await until(() => control.instances.of('app')?.running === 1)
})

test('an app that sleeps is known to the new agent, also without a control process', async (t) => {
  const { folder, connect, replace } = await openAgent(t)
  const first = connect()
  await first.instances.adopt([await appIn(folder, 'app')])
  await first.stop()
  await replace()
  const second = connect()
  await until(() => second.instances.of('app')?.state === 'ASLEEP')
})

test('an agent without apps ends when it is replaced', async (t) => {
  const { agent, replace } = await openAgent(t)
  await replace()
  await agent.replaced
})
