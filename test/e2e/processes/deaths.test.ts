/** What visitors notice when a process of the service dies: nothing of the control process, little of the others. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploy, nodeServer, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { processesOf, type Role } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const service = await startService({ after: (end: () => unknown) => void ends.unshift(end) })
const as = await service.login()
after(async () => {
  for (const end of ends) await end()
})

const PATHS = `
  if (request.url === '/started') return response.end(started)
  if (request.url === '/unanswered') return ++unanswered
  if (request.url === '/count') return response.end(String(unanswered))
`
const STATE = 'const started = String(Date.now() + Math.random())\nlet unanswered = 0\n'
const server = (version: string) => ({
  ...nodeServer(version, PATHS),
  'server.js': `${STATE}${nodeServer(version, PATHS)['server.js']}`,
})

const environment = await createEnvironment(service, as)
assert.equal((await deploy(service, as, environment.name, server('one'))).error, undefined)
const get = (path = '/') => siteAnswer(service, environment.url, path)

/** Kills the process, and resolves when another one has its role. */
async function kill(role: Role) {
  const { [role]: pid } = processesOf(service.pid)
  assert.ok(pid, `there is a process of ${role}`)
  process.kill(pid, 'SIGKILL')
  await until(() => ![undefined, pid].includes(processesOf(service.pid)[role]))
}

const untilHealthy = () =>
  until(async () => (await fetch(`${service.api}/healthz`).catch(() => undefined))?.status === 200)

test('while the control process is away, sites answer; the next one takes over the apps that run', async () => {
  const started = (await get('/started')).text
  const { edge, agent } = processesOf(service.pid)
  let isOver = false
  const visits = (async () => {
    let count = 0
    while (!isOver) {
      assert.equal((await get(`/${++count}`)).status, 200)
    }
    return count
  })()
  await kill('control')
  await untilHealthy()
  isOver = true
  assert.ok((await visits) > 0)
  assert.equal((await get('/started')).text, started, 'the app was not started again')
  const now = processesOf(service.pid)
  assert.deepEqual([now.edge, now.agent], [edge, agent])
})

test('a request to the API waits while the control process is started again', async () => {
  await kill('control')
  assert.equal((await fetch(`${service.api}/healthz`)).status, 200)
})

test('an upload whose build was cut off by the death of the control process is built by the next one', async () => {
  const operation = (await upload(service, as, environment.name, server('two'))).json
  await kill('control')
  await untilHealthy()
  assert.equal((await untilDone(service, as, operation.name)).error, undefined)
  assert.equal((await get()).text, 'two')
})

test('connections wait while an edge is started again', async () => {
  await kill('edge')
  assert.deepEqual([(await get()).status, (await get()).text], [200, 'two'])
})

test('apps that ran are started again with the agent, and visitors wait for them', async () => {
  const started = (await get('/started')).text
  await kill('agent')
  const answer = await get('/started')
  assert.equal(answer.status, 200)
  assert.notEqual(answer.text, started)
  assert.equal((await deploy(service, as, environment.name, server('three'))).error, undefined)
  assert.equal((await get()).text, 'three')
})

test('a request that an app was working on when its agent died is answered at once, and not when its time is over', async () => {
  const answer = get('/unanswered')
  await until(async () => (await get('/count')).text === '1')
  await kill('agent')
  assert.equal((await answer).status, 502, 'a request whose time is over is answered with 504')
})

test('a service that is stopped leaves no process behind', async () => {
  const pids = Object.values(processesOf(service.pid))
  assert.equal(pids.length, 3)
  assert.equal(await service.stop(), 0)
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})
