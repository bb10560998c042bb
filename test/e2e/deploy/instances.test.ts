/** Several instances of an app, from the setting to the visitor. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { deploy, nodeServer, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const service = await startService({ after: (end: () => unknown) => void ends.unshift(end) })
const as = await service.login()
after(async () => {
  for (const end of ends) await end()
})

const environment = await createEnvironment(service, as)
/** `/who` names the process; `/hold/…` is not answered. */
const server = (version: string) => ({
  ...nodeServer(version),
  'server.js': `
    const who = String(Math.random())
    require('node:http').createServer((request, response) => {
      response.setHeader('cache-control', 'no-store')
      if (request.url.startsWith('/hold')) return
      response.end(request.url === '/who' ? who : ${JSON.stringify(version)})
    }).listen(process.env.PORT, process.env.HOST)`,
})
const get = (path = '/') => siteAnswer(service, environment.url, path)

async function change(body: Record<string, number>) {
  const reply = await service.call(`/v1/${environment.name}`, { method: 'PATCH', as, body })
  assert.equal(reply.status, 200, reply.text)
  await untilDone(service, as, reply.json.name)
}

async function running(): Promise<number> {
  const { json } = await service.call(`/v1/${environment.name}`, { as })
  const deployment = await service.call(`/v1/${json.deployment}`, { as })
  return deployment.json.instance?.running ?? 0
}

/** The processes that answer ten visitors one after the other. */
async function processes(): Promise<Set<string>> {
  const found = new Set<string>()
  for (let visit = 0; visit < 10; visit++) found.add((await get('/who')).text)
  return found
}

test('a minimum that is set for a live app is reached without a new deployment, and visitors are spread', async () => {
  assert.equal((await deploy(service, as, environment.name, server('one'))).error, undefined)
  const [first] = await processes()
  await change({ minInstances: 2, maxInstances: 3, requestsPerInstance: 1 })
  await until(async () => (await running()) === 2)
  const both = await processes()
  assert.equal(both.size, 2)
  assert.ok(first !== undefined && both.has(first))
})

test('requests in flight bring another instance, up to the maximum', async () => {
  const { port } = new URL(service.edge)
  const headers = { host: new URL(environment.url).host }
  // Requests for the same page would be one in flight.
  const held = Array.from({ length: 8 }, (_, visit) => request({ port, path: `/hold/${visit}`, headers }).end())
  for (const one of held) one.on('error', () => undefined)
  await until(async () => (await running()) === 3)
  for (const one of held) one.destroy()
})

test('a new deployment has its instances, too', async () => {
  assert.equal((await deploy(service, as, environment.name, server('two'))).error, undefined)
  await until(async () => (await running()) === 2)
  assert.equal((await get()).text, 'two')
  assert.equal((await processes()).size, 2)
})

test('all instances go on while the control process is started again', async () => {
  const before = await processes()
  process.kill(service.controlPid(), 'SIGKILL')
  await until(async () => (await fetch(`${service.api}/readyz`).catch(() => undefined))?.status === 200)
  assert.deepEqual([...(await processes())].toSorted(), [...before].toSorted())
})
