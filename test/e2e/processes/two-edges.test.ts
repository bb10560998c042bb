/** Two edges share a port: each serves everything, and one that dies takes only its own connections with it. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { deploy, nodeServer } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const service = await startService(scope, { settings: { HEADLAND_EDGES: '2' } })
const as = await service.login()
const environment = await createEnvironment(service, as)
const ECHO = `
  server.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
    socket.pipe(socket).on('error', () => undefined)
  })`
/** Every answer of the app is another one. */
const COUNTING = `response.setHeader('cache-control', 's-maxage=3600')
  globalThis.count = (globalThis.count ?? 0) + 1
  return response.end(String(count))`
const files = nodeServer('one', COUNTING)
files['server.js'] += ECHO
assert.equal((await deploy(service, as, environment.name, files)).error, undefined)
const get = (path = '/') => siteAnswer(service, environment.url, path)

/** A connection whose messages come back. */
async function connect() {
  const { hostname, port } = new URL(service.edge)
  const headers = { host: new URL(environment.url).host, connection: 'Upgrade', upgrade: 'websocket' }
  const socket = await new Promise<Socket>((resolve, reject) => {
    const sent = request({ host: hostname, port, headers, agent: false }).end()
    sent.on('upgrade', (_, opened) => resolve(opened as Socket)).on('error', reject)
  })
  scope.after(() => socket.destroy())
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  socket.on('error', () => undefined)
  return {
    isBroken: () => socket.destroyed,
    async echo(message: string) {
      socket.write(message)
      await until(() => socket.destroyed || received.endsWith(message))
    },
  }
}

test('a purge is acknowledged when both edges have applied it', async () => {
  const visits = () => Promise.all(Array.from({ length: 20 }, async () => (await get()).text))
  let before = new Set<string>()
  for (let round = 0; round < 5; round++) {
    for (const text of await visits()) assert.ok(!before.has(text), 'it was purged')
    before = new Set(await visits())
    const purged = await service.call(`/v1/${environment.name}:clearCache`, { method: 'POST', as, body: {} })
    const done = await service.call(`/v1/${purged.json.name}:wait`, { method: 'POST', as })
    assert.equal(done.json.done, true)
  }
})

test('an edge that is killed takes its own connections with it, and no other request fails', async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, connect))
  process.kill(service.edgePid(), 'SIGKILL')
  await until(() => sockets.some(({ isBroken }) => isBroken()))
  for (let visit = 0; visit < 20; visit++) assert.equal((await get(`/${visit}`)).status, 200)
  await Promise.all(sockets.map((socket, at) => socket.echo(`message ${at};`)))
  const broken = sockets.filter(({ isBroken }) => isBroken()).length
  assert.ok(broken > 0 && broken < sockets.length, `${broken} of ${sockets.length} are broken`)
})
