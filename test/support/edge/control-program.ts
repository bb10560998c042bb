/**
 * The part of a control process that edges see, in a process of its own: purges are asked of it by HTTP. Tests start many of them:
 * it loads only what it uses.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChanges, createLog, parseDatabaseAddress, processName, systemClock } from '../../../src/base/index.ts'
import { openClusterPort, PROTOCOL } from '../../../src/channel/index.ts'
import { createPurgeLog } from '../../../src/deployments/records/purge-log.ts'
import { type EnvironmentRoutes, listenToEdges } from '../../../src/edge/index.ts'
import { createChildLife, live } from '../../../src/processes/child.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'

export type ControlSettings = {
  databaseUrl: string
  key: string
  leaseMs: number
  port: number
  path: string
  routes: EnvironmentRoutes[]
}

export type ControlReady = { port: number; api: number; pid: number }

await live(async () => {
  const life = createChildLife<ControlSettings, ControlReady>()
  const { databaseUrl, key, leaseMs, port, path, routes } = await life.begin
  const clock = systemClock
  const changes = createChanges()
  const sql = await openPostgres(parseDatabaseAddress(databaseUrl), {
    onChange: changes.notify,
    onEverything: changes.notifyEverything,
  })
  const greeting = { protocol: PROTOCOL, role: 'control', process: processName(), version: 'test' }
  const address = { host: '127.0.0.1', port, key }
  const clusterPort = await openClusterPort({ address, greeting, onRefused: () => undefined })
  const edges = await listenToEdges({
    clock,
    log: createLog('silent'),
    path,
    port: clusterPort,
    greeting,
    records: createPurgeLog({ sql, clock, changes }),
    leaseMs,
  })
  edges.onConnected((member) => {
    if (member.revision === 1) member.isRouted = true
    else void edges.setRoutes(member, { routes, isWhole: true, revision: 1 })
  })
  const api = createServer((request, response) => {
    const done =
      request.method === 'POST'
        ? edges.purge({ environment: 'e1' }).then(() => '')
        : Promise.resolve(JSON.stringify(edges.serving().map(({ process }) => process)))
    done.then(
      (text) => response.end(text),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  await once(api.listen(0, '127.0.0.1'), 'listening')
  life.ready({ port: clusterPort.port ?? 0, api: (api.address() as AddressInfo).port, pid: process.pid })
  await life.stopRequested
  api.close()
  api.closeAllConnections()
  await edges.close(0)
  await sql.close()
  life.leave()
})
