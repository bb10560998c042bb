/** An edge in this process, which follows a process of a cluster for where instances are; its routes are given. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { processName } from '../../../src/base/index.ts'
import { type PeerAddress, PROTOCOL } from '../../../src/channel/index.ts'
import { followAgent } from '../../../src/edge/process/follow-agent.ts'
import { createLease } from '../../../src/edge/process/lease.ts'
import { createRouteTable } from '../../../src/edge/route-table.ts'
import { createEdgeServer } from '../../../src/edge/server.ts'
import type { Scope } from '../folder.ts'

const REPORT_MS = 250

export async function startEdgeHere(t: Scope, address: PeerAddress, hosts: Readonly<Record<string, string>>) {
  const table = createRouteTable({ fetchesFiles: false })
  const edge = createEdgeServer({ wake: (deployment) => agent.notify('wake', deployment) })
  const routes = Object.entries(hosts).map(([host, deployment]) => ({
    environment: deployment,
    hosts: { [host]: { kind: 'server' as const, environment: deployment, deployment } },
  }))
  edge.changeRoutes(table.setRoutes(routes))
  const agent = followAgent({
    addresses: [address],
    isElsewhere: true,
    lease: createLease(),
    greeting: { protocol: PROTOCOL, role: 'edge', process: processName(), version: 'test' },
    edge,
    table,
    isGone: () => false,
  })
  edge.http.listen(0, '127.0.0.1')
  await once(edge.http, 'listening')
  const { port } = edge.http.address() as AddressInfo
  const reporting = setInterval(() => {
    agent.notify('load', edge.load())
    const activity = edge.takeActivity()
    if (activity) agent.notify('activity', activity)
  }, REPORT_MS)
  t.after(async () => {
    clearInterval(reporting)
    await agent.stop()
    edge.http.closeAllConnections()
    await edge.stop()
  })

  return {
    /** What a visitor gets, as text: the status, and the page. */
    visit: (host: string, path: string): Promise<string> =>
      new Promise((resolve) => {
        const asked = request({ host: '127.0.0.1', port, path, headers: { host }, agent: false }, (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve(`${response.statusCode} ${text}`))
          response.on('error', (error) => resolve(String(error)))
        })
        asked.on('error', (error) => resolve(String(error)))
        asked.end()
      }),
  }
}
