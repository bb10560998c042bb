/** New code takes over from a running service without a failed request. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { copyOf, reload } from '../../support/service/copies.ts'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { agentsOf, processesOf } from '../../support/service/processes.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
const service = await startService(scope)
const as = await service.login()
after(async () => {
  for (const end of ends) await end()
})

const environment = await createEnvironment(service, as)
const withStart = 'const started = String(Date.now() + Math.random())\n'
const CALLS_SERVICE = `if (request.url === '/call') {
  fetch(process.env.HEADLESS_APPS_API_URL_ADDRESS).then(({ status }) => response.end(String(status)), (error) => response.end(String(error)))
  return
}`
const SHOWS_START = "if (request.url === '/started') return response.end(started)"
const server = (version: string) => {
  const files = nodeServer(
    version,
    `response.setHeader('cache-control', 'no-store')\nconsole.log('visited ' + request.url)\n${SHOWS_START}\n${CALLS_SERVICE}`,
  )
  return { ...files, 'server.js': withStart + files['server.js'] }
}
const made = await deploy(service, as, environment.name, server('one'))
assert.equal(made.error, undefined)
const get = (path = '/') => siteAnswer(service, environment.url, path)

async function versionNow(): Promise<string | undefined> {
  const metrics = await (await fetch(`${service.api}/metrics`)).text()
  return /^headland_build_info\{version="([^"]+)"\}/m.exec(metrics)?.[1]
}

test('a copy with another version takes over while visitors come, and apps go on', async () => {
  const started = (await get('/started')).text
  const before = processesOf(service.pid)
  const other = await copyOf(scope, '9.9.9')
  let [isOver, count] = [false, 0]
  const visits = (async () => {
    while (!isOver) assert.equal((await get(`/${++count}`)).status, 200)
  })()
  const { stdout } = await reload(other, service)
  isOver = true
  await visits
  assert.match(stdout, /Version 9\.9\.9 serves now/)
  assert.ok(count > 0)
  assert.equal(await versionNow(), '9.9.9')
  assert.equal((await get('/started')).text, started)
  assert.equal((await get('/call')).text, '404', 'the app reaches the service as before')
  const now = processesOf(service.pid)
  for (const role of ['control', 'edge', 'agent'] as const) assert.notEqual(now[role], before[role])
  assert.ok(isThere(before.agent), 'the old agent holds the app')
})

const isThere = (pid: number | undefined): boolean => pid !== undefined && existsSync(`/proc/${pid}`)

test('an app that is replaced runs under the new agent, and the old one ends', async () => {
  const agents = agentsOf(service.pid)
  assert.equal(agents.length, 2)
  const next = server('one again')
  assert.equal((await deploy(service, as, environment.name, next)).error, undefined)
  assert.equal((await get()).text, 'one again')
  assert.equal((await get('/call')).text, '404')
  await until(() => agentsOf(service.pid).length === 1, 'the old agent has ended')
})

test('what an app writes is in its log, also while the old agent holds it', async () => {
  const visits = ['/before', '/after', '/later']
  await get(visits[0])
  await reload(await copyOf(scope, '9.9.9'), service)
  await get(visits[1])
  await get(visits[2])
  const log = async () => (await service.call(`/v1/${environment.name}/logs`, { as })).text
  await until(async () => (await log()).includes('visited /later'))
  const text = await log()
  for (const path of visits) assert.equal(text.split(`visited ${path}`).length, 2, path)
})

test('apps that an old agent holds are started again if the new one dies', async () => {
  const { agent } = processesOf(service.pid)
  assert.ok(agent && agentsOf(service.pid).length === 2)
  const started = (await get('/started')).text
  process.kill(agent, 'SIGKILL')
  await until(() => agentsOf(service.pid).length === 1 && !isThere(agent), 'one agent is there')
  const answer = await get('/started')
  assert.equal(answer.status, 200)
  assert.notEqual(answer.text, started)
})

test('a version that does not come up changes nothing, and the command says why', async () => {
  const broken = await copyOf(scope, '0.0.1')
  await writeFile(join(broken, 'src', 'processes', 'edge.ts'), "throw new Error('this version is broken')")
  const failed = await reload(broken, service).catch((error) => error)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /this version is broken|ended before it was ready/)
  assert.equal(await versionNow(), '9.9.9')
  assert.equal((await get()).status, 200)
  assert.equal((await deploy(service, as, environment.name, nodeServer('two'))).error, undefined)
  assert.equal((await get()).text, 'two')
})

test('SIGHUP starts the processes anew', async () => {
  const before = processesOf(service.pid)
  process.kill(service.pid, 'SIGHUP')
  await until(() => {
    const now = processesOf(service.pid)
    return now.control !== before.control && now.edge !== before.edge
  })
  assert.equal((await get()).text, 'two')
})
