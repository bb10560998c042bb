/** Apps that sleep frozen, and the death of the agent that holds them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { needsFreezer } from '../../support/machine/engine.ts'
import { runningProcesses } from '../../support/machine/process-tree.ts'
import { deploy } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { processesOf } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after }, { settings: { HEADLAND_IDLE_TIMEOUT: '2' } })
const as = await service.login()
const skip = needsFreezer

const server = (version: string) => `
  let visits = 0
  require('node:http').createServer((request, response) =>
    response.setHeader('cache-control', 'no-store').end(request.url === '/visit' ? '${version} ' + ++visits : 'up'),
  ).listen(process.env.PORT, process.env.HOST)`

/** `mark` is in the command line of its processes. */
const files = (version: string, mark: string) => ({
  'package.json': JSON.stringify({ name: 'app', scripts: { start: `node server.js ${mark}` } }),
  'server.js': server(version),
})

const pidsOf = (mark: string): number[] =>
  runningProcesses().flatMap(({ pid, command }) => (command.includes(mark) ? pid : []))

async function counter(mark: string) {
  const { name, url } = await createEnvironment(service, as)
  const visit = async () => (await siteAnswer(service, url, '/visit')).text
  const put = async (version: string) => {
    const done = await deploy(service, as, name, files(version, mark))
    assert.equal(done.error, undefined)
    return done.metadata.deployment
  }
  const untilAsleep = async (deployment: unknown) => {
    const state = async () => (await service.call(`/v1/${deployment}`, { as })).json.instance?.state
    await until(async () => (await state()) === 'ASLEEP', 'it sleeps')
  }
  return { name, visit, put, untilAsleep }
}

test('a visit wakes a frozen app with its memory as it was', { skip }, async () => {
  const { visit, put, untilAsleep } = await counter('frozen-visited')
  const deployment = await put('one')
  assert.equal(await visit(), 'one 1')
  const pids = pidsOf('frozen-visited')
  await untilAsleep(deployment)
  assert.equal(await visit(), 'one 2')
  assert.deepEqual(pidsOf('frozen-visited'), pids)
})

test('a deploy, and a deletion, end the processes of an app that is frozen', { skip }, async () => {
  const { name, visit, put, untilAsleep } = await counter('frozen-replaced')
  await untilAsleep(await put('one'))
  const [old] = pidsOf('frozen-replaced')
  assert.ok(old)
  const deployment = await put('two')
  await until(() => !pidsOf('frozen-replaced').includes(old))
  assert.equal(await visit(), 'two 1')
  await untilAsleep(deployment)
  assert.notDeepEqual(pidsOf('frozen-replaced'), [])
  await service.call(`/v1/${name}`, { as, method: 'DELETE' })
  await until(() => pidsOf('frozen-replaced').length === 0)
})

test('the death of the agent leaves no frozen process, and the next visit is answered', { skip }, async () => {
  const { visit, put, untilAsleep } = await counter('frozen-left')
  const deployment = await put('one')
  assert.equal(await visit(), 'one 1')
  await untilAsleep(deployment)
  const pids = pidsOf('frozen-left')
  assert.notDeepEqual(pids, [])
  process.kill(processesOf(service.pid).agent as number, 'SIGKILL')
  await until(() => pidsOf('frozen-left').every((pid) => !pids.includes(pid)))
  assert.equal(await visit(), 'one 1')
})
