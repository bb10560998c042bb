/** An edge whose instances are on other machines, with a real app, and a control process over a real socket. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask } from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import { processName } from '../../base/index.ts'
import { createCaller, type Frame, listenToPeers, PROTOCOL } from '../../channel/index.ts'
import { LIMITS } from '../limits.ts'
import { createRouteTable } from '../route-table.ts'
import { createEdgeServer } from '../server.ts'
import { followAgent } from './follow-agent.ts'
import { ADDRESSES_MS, createLease } from './lease.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent } from './messages.ts'

const greetingOf = (role: string) => ({ protocol: PROTOCOL, role, process: processName(), version: 'test' })
const HOST = 'shop.example.com'

async function open(t: TestContext, { pendingMs = 100 } = {}) {
  let visits = 0
  const app = createServer((_, response) => response.end(`visit ${++visits}`)).listen(0, '127.0.0.1')
  t.after(() => app.close())
  await once(app, 'listening')
  const address = { instance: 'one', host: '127.0.0.1', port: (app.address() as AddressInfo).port }

  let passedMs = 0
  const lease = createLease(() => performance.now() + passedMs)
  const edge = createEdgeServer({ limits: { ...LIMITS, pendingMs }, mayUseInstances: lease.isCurrent })
  t.after(() => edge.stop())
  edge.http.listen(0, '127.0.0.1')
  await once(edge.http, 'listening')
  const table = createRouteTable()
  const hosts = { [HOST]: { kind: 'server' as const, environment: 'e1', deployment: 'd1' } }
  edge.changeRoutes(table.setRoutes([{ environment: 'e1', hosts }]))

  const path = join(await temporaryFolder(t), 'control.sock')
  let isAnswering = true
  const listen = () =>
    listenToPeers<Frame, Frame>({
      address: path,
      greeting: greetingOf('control'),
      onPeer(peer) {
        const methods: Pick<AgentMethodsForEdge, 'isThere'> = { isThere: () => isAnswering }
        const caller = createCaller<EdgeMethodsForAgent>(peer, methods)
        const reports = { d1: { state: 'running' as const, instances: [address] } }
        caller.notify('setInstances', { reports, isWhole: true })
      },
      onRefused: () => undefined,
    })
  let control = await listen()
  const isGone = () => false
  const agent = followAgent({
    addresses: [path],
    isElsewhere: true,
    greeting: greetingOf('edge'),
    edge,
    table,
    lease,
    isGone,
  })
  t.after(async () => {
    await agent.stop()
    await control.close()
  })
  const { port } = edge.http.address() as AddressInfo
  return {
    visits: () => visits,
    isCurrent: lease.isCurrent,
    visit: async () => (await ask(port, { host: HOST })).status,
    lose: () => control.close(),
    async find() {
      control = await listen()
    },
    answer(next: boolean) {
      isAnswering = next
    },
    pass(ms: number) {
      passedMs += ms
    },
  }
}

test('an edge that is cut off uses the addresses of instances for a time, and then no more', async (t) => {
  const { visit, visits, isCurrent, lose, pass } = await open(t)
  await until(isCurrent)
  await lose()
  pass(ADDRESSES_MS - 60_000)
  assert.equal(await visit(), 200)
  pass(60_001)
  assert.equal(await visit(), 504)
  assert.equal(visits(), 1)
})

test('a control process that is connected, but does not answer, does not prolong the time', async (t) => {
  const { visit, isCurrent, answer, pass } = await open(t)
  await until(isCurrent)
  answer(false)
  pass(ADDRESSES_MS)
  await until(() => !isCurrent())
  assert.equal(await visit(), 504)
})

test('requests that wait are sent to the app when a control process answers again', async (t) => {
  const { visit, isCurrent, lose, find, pass } = await open(t, { pendingMs: 60_000 })
  await until(isCurrent)
  await lose()
  pass(ADDRESSES_MS + 1)
  const waiting = visit()
  await find()
  assert.equal(await waiting, 200)
})
