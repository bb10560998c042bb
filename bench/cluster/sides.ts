/** The cluster and the machine beside it, started in the same network, as the measurements use them. */
import { get } from 'node:http'
import type { Scope } from '../../test/support/folder.ts'
import { startService, type TestService } from '../../test/support/service/service.ts'
import { startWhole, type Whole } from '../../test/support/swarm/whole.ts'
import { type Caller, createApp } from '../client.ts'
import { treeCpuMs } from '../cpu.ts'
import { SLEEP_AFTER_SECONDS } from './sizes.ts'

export const APP = 'shop'

export type Site = { name: string; url: string }

export type Side = {
  caller: Caller
  edges: readonly TestService[]
  /** First processes of everything that works for it, the apps included, but the registry and the object store. */
  roots(): number[]
  /** Of the environments that were deployed. */
  sites: Site[]
}

/** The first control process leads. */
export type Cluster = Side & { whole: Whole; controls: [TestService, TestService] }
export type Sides = { ours: Cluster; peer: Side & { service: TestService } }

const SETTINGS = { HEADLAND_IDLE_TIMEOUT: String(SLEEP_AFTER_SECONDS), HEADLAND_LOG_LEVEL: 'warn' }

/** The scope has to end things in reverse. */
export async function startSides(scope: Scope): Promise<Sides> {
  const whole = await startWhole(scope, { settings: SETTINGS, isDurable: true })
  const edges = [...whole.edges, await whole.startEdge('edge-3')]
  const controls: Cluster['controls'] = [...whole.controls]
  const service = await startService(scope, { settings: SETTINGS })
  const ours: Cluster = {
    caller: await callerOf(whole.controls[0]),
    edges,
    roots: () => [
      ...[...controls, whole.worker, ...edges].map(({ pid }) => pid),
      ...whole.nodeRoles.map((role) => role.pid()),
      ...whole.swarm.nodes.map(({ pid }) => pid),
      whole.shared.server.pid(),
    ],
    sites: [],
    whole,
    controls,
  }
  const peer = {
    caller: await callerOf(service),
    edges: [service],
    roots: () => [service.pid],
    sites: [],
    service,
  }
  for (const { caller } of [ours, peer]) await createApp(caller, APP)
  return { ours, peer }
}

async function callerOf(service: TestService): Promise<Caller> {
  const { userId, password } = await service.login()
  return { api: service.api, headers: { authorization: `Basic ${btoa(`${userId}:${password}`)}` } }
}

export const cpuOf = (side: Side): number => side.roots().reduce((sum, pid) => sum + treeCpuMs(pid), 0)

/** A page of a site through an edge; resolves to the milliseconds until its first byte. */
export function firstByte(edge: TestService, { url }: Site): Promise<number> {
  const began = performance.now()
  const { hostname, port } = new URL(edge.edge)
  return new Promise((resolve, reject) => {
    get({ host: hostname, port, headers: { host: new URL(url).host }, agent: false }, (response) => {
      const ms = performance.now() - began
      response.resume().on('error', reject)
      if (response.statusCode === 200) response.on('end', () => resolve(ms))
      else reject(new Error(`${url} answered ${response.statusCode}`))
    }).on('error', reject)
  })
}

/** A server without packages, whose program is another one in each version. */
export const server = (version: string, body = 'hello', header = 'no-store') => ({
  'package.json': JSON.stringify({ name: 'server', version: '1.0.0', scripts: { start: 'node server.js' } }),
  'server.js': `
    // ${version}
    const server = require('node:http').createServer((_, response) => {
      response.setHeader('cache-control', ${JSON.stringify(header)}).end(${JSON.stringify(body)})
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => process.exit())`,
})
