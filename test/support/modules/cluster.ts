/** Processes of a cluster on one database, each with its apps as rows, and edges that are connected to one of them. */
import { join } from 'node:path'
import {
  type Changes,
  createChanges,
  createListeners,
  createLog,
  processName,
  systemClock,
} from '../../../src/base/index.ts'
import {
  connectPeer,
  createCaller,
  type Frame,
  joinToken,
  openClusterPort,
  PROTOCOL,
} from '../../../src/channel/index.ts'
import { type ClusterAppsParts, createClusterApps } from '../../../src/cluster/index.ts'
import { resources } from '../../../src/contract/index.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent, InstanceReport } from '../../../src/edge/index.ts'
import type { InstanceRequest } from '../../../src/runtime/index.ts'
import { createLineLogs, createVault, type LogLine, type Sql } from '../../../src/storage/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { until } from '../until.ts'

export const IMAGE = `registry.example/app@sha256:${'0'.repeat(64)}`
const KEY = 'the key of a test'
const MIB = 1024 * 1024

/** SQLite as several processes of a test use it: each is told of the changes of all. */
export function withNotices(sql: Sql, processes: readonly Changes[]): Sql {
  return {
    ...sql,
    async transaction(work, options) {
      const notices: [string, string][] = []
      const result = await sql.transaction((tx) => {
        notices.length = 0
        return work({ writes: true, query: tx.query, notify: (account, name) => void notices.push([account, name]) })
      }, options)
      for (const changes of processes) for (const notice of notices) changes.notify(...notice)
      return result
    },
  }
}

export type Process = Awaited<ReturnType<typeof openProcess>>

type Options = Partial<ClusterAppsParts> & { sql: Sql; logFolder?: string }

/** One process of a cluster, as far as its apps go. */
export async function openProcess(t: Scope, { sql, changes = createChanges(), logFolder, ...more }: Options) {
  const folder = logFolder ?? (await temporaryFolder(t))
  const logs = createLineLogs(join(folder, 'logs'))
  const unconfirmed = new Set<string>()
  const nodes = createListeners<void>()
  const apps = createClusterApps({
    sql,
    clock: systemClock,
    log: createLog('silent'),
    changes,
    vault: createVault(Buffer.alloc(32, 7)),
    tellRevalidated: async () => undefined,
    logs,
    imageOf: async () => IMAGE,
    regionOf: async () => 'EU-W',
    nodes: { isConfirmed: (node) => !unconfirmed.has(node), onChange: nodes.add },
    startDeadlineMs: 60_000,
    idleMs: 3_600_000,
    awakeLimits: { apps: 0, memoryBytes: 0 },
    ...more,
  })
  await apps.start()
  const port = await openClusterPort({
    address: { host: '127.0.0.1', port: 0, key: KEY },
    greeting: { protocol: PROTOCOL, role: 'control', process: processName(), version: 'test' },
    onRefused: () => undefined,
  })
  port.serve<Frame, Frame>({ role: 'edge', topic: 'instances' }, apps.serveEdge)
  let isStopped = false
  async function stop() {
    if (isStopped) return
    isStopped = true
    await apps.stop()
    await port.close()
  }
  t.after(stop)

  return {
    ...apps,
    stop,
    edge: () => connectEdge(t, port.port ?? 0),
    /** Where an edge of this name connects. */
    addressFor: (name: string) => ({
      host: '127.0.0.1',
      port: port.port ?? 0,
      token: joinToken(KEY, { role: 'edge', name }),
    }),
    confirm(node: string, isConfirmed: boolean) {
      if (isConfirmed) unconfirmed.delete(node)
      else unconfirmed.add(node)
      nodes.notify()
    },
    /** The service's own lines in the log of an environment, without their deployments. */
    async lines(environment: string): Promise<string[]> {
      const all: LogLine[] = await logs.read(`runtime/${environment}`, 0)
      return all.filter(({ stream }) => stream === 'service').map(({ phase, text }) => `${phase}: ${text}`)
    },
  }
}

/** An edge by a real connection, which remembers what it was told. */
async function connectEdge(t: Scope, port: number) {
  const token = joinToken(KEY, { role: 'edge', name: 'e1' })
  const peer = await connectPeer<Frame, Frame>(
    { host: '127.0.0.1', port, token },
    { protocol: PROTOCOL, role: 'edge', topic: 'instances', process: processName(), version: 'test' },
  )
  t.after(peer.close)
  const reports = new Map<string, InstanceReport>()
  const told: { deployment: string; state: string }[] = []
  let isWhole = false
  const methods: Pick<EdgeMethodsForAgent, 'setInstances'> = {
    setInstances(message) {
      if (message.isWhole) reports.clear()
      isWhole ||= message.isWhole
      for (const [deployment, report] of Object.entries(message.reports)) {
        told.push({ deployment, state: report?.state ?? 'gone' })
        if (report) reports.set(deployment, report)
        else reports.delete(deployment)
      }
    },
  }
  const { notify } = createCaller<AgentMethodsForEdge>(peer, methods)
  await until(() => isWhole, 'the edge was told of all apps')
  return {
    notify,
    reports,
    told,
    close: peer.close,
    stateOf: (deployment: string) => reports.get(deployment)?.state,
    addressesOf: (deployment: string) => {
      const report = reports.get(deployment)
      return report?.state === 'running' ? report.instances.map(({ host, port: at }) => `http://${host}:${at}`) : []
    },
    untilTold: (deployment: string, state: InstanceReport['state'] | undefined) =>
      until(() => reports.get(deployment)?.state === state, `the edge is told that ${deployment} is ${state}`),
  }
}

export const request = (deployment: string, change: Partial<InstanceRequest> = {}): InstanceRequest => ({
  deployment,
  build: `build-of-${deployment}`,
  owner: { account: 'acme', environment: `environment-of-${deployment}` },
  layers: [],
  runFolder: '/none',
  argv: ['node', 'server.mjs'],
  cwd: '',
  binaries: [],
  writable: ['cache'],
  variables: { NAME: deployment },
  user: undefined,
  hostHeader: 'site.example',
  openToolchain: () => Promise.reject(new Error('a cluster needs no tools')),
  limits: {
    memoryBytes: 256 * MIB,
    processes: 100,
    cpuWeight: 100,
    openFiles: 1000,
    fileBytes: 1024 * MIB,
    diskBytes: null,
    diskFiles: null,
  },
  scaling: resources.DEFAULT_SCALING,
  log: {
    name: `runtime/${change.owner?.environment ?? `environment-of-${deployment}`}`,
    secrets: [],
    whenFull: 'rotate',
    maxBytes: MIB,
  },
  ...change,
})
