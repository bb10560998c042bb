/**
 * The edge as a process. It begins with the routes that it saved, or with those of the control process if one is there. It
 * follows that process and the agent over their sockets, and goes on with what it was last told while they are away.
 */
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Greeting, type PeerAddress, PROTOCOL } from '../../channel/index.ts'
import { watchStalls } from '../../watchdog/index.ts'
import type { CacheSettings } from '../cache/index.ts'
import type { PortalSettings } from '../front-door/portal.ts'
import { createRouteTable } from '../route-table.ts'
import { createEdgeServer } from '../server.ts'
import { followAgent } from './follow-agent.ts'
import { followControl } from './follow-control.ts'
import { followFiles } from './follow-files.ts'
import type { JobSocketSource } from './job-sockets.ts'
import { createLease } from './lease.ts'
import { reportRequests } from './report-requests.ts'
import { createSavedCertificates } from './saved-certificates.ts'
import { createSavedRoutes } from './saved-routes.ts'

type Listening = { fd: number } | { host: string; port: number }

export type EdgeSettings = {
  /** Names this process, so that others of its machine can find out whether it is gone. */
  name: string
  version: string
  /** A socket that the parent process listens on, or an address. */
  listen: Listening
  /** Where TLS is served, and at which port visitors reach it. */
  tls?: { listen: Listening; publicPort: number; portal: PortalSettings | undefined; hstsSeconds: number } | undefined
  routesFile: string
  certificatesFile: string
  trustedProxies: readonly string[]
  /** Hosts that rewrites of static sites may lead to. */
  rewriteHosts: readonly string[]
  /** The range in which builds and apps have their addresses. */
  jobNetwork?: string
  countsPaths: boolean
  recordsRequests: boolean
  cache: CacheSettings
  /** Of the control processes; it follows one of them. */
  controls: readonly PeerAddress[]
  /** Where instances are known: the agent of this machine, or control processes, of which it follows one. */
  instances: { addresses: readonly PeerAddress[]; isElsewhere: boolean }
  /** Of the process that brings the files of static sites to this machine; without it, they are where the control process says. */
  filesSocket?: string | undefined
  /** How it gets the sockets for builds and apps; without it, they do not reach it. */
  jobSockets?: JobSocketSource
  /** Whether a process of this machine is gone; true only when it is certain. */
  isGone?(process: string): boolean
}

const ACTIVITY_MS = 5000
/** How long an edge that starts waits for a control process that is there: its connections wait meanwhile. */
const FIRST_LEASE_MS = 2000
/** Decides how soon a busy app gets another instance. */
const LOAD_MS = 1000
/** The same fault is reported once in this time: one that every request meets must not flood the log. */
const TROUBLE_MS = 10_000
/** The same for a loop, which the log of its app is told of. */
const LOOP_MS = 60_000

export async function runEdge(settings: EdgeSettings) {
  const { name, version, listen, tls, routesFile, countsPaths, recordsRequests, cache } = settings
  const { controls, instances, filesSocket, jobSockets, isGone = () => false } = settings
  const greeting: Greeting = { protocol: PROTOCOL, role: 'edge', process: name, version }
  const table = createRouteTable({ fetchesFiles: filesSocket !== undefined })
  const saved = createSavedRoutes(routesFile)
  const savedCertificates = createSavedCertificates(settings.certificatesFile)
  const lease = createLease()
  const addresses = createLease()
  const tell = oncePer(TROUBLE_MS, (message) => control.notify('trouble', message))
  const report = (error: unknown) => tell(error instanceof Error ? (error.stack ?? error.message) : String(error))
  const edge = createEdgeServer({
    wake: (deployment) => agent.notify('wake', deployment),
    fetchFiles: (output) => files?.want(output),
    onLoop: oncePer(LOOP_MS, (deployment) => agent.notify('loopDetected', deployment)),
    report,
    mayUseStored: lease.isCurrent,
    mayUseInstances: () => !instances.isElsewhere || addresses.isCurrent(),
    portal: tls?.portal,
  })
  // An unexpected error concerns one request. Exiting would abort all the others, and a client could repeat it at will.
  process.on('uncaughtException', report)
  process.on('unhandledRejection', report)

  edge.trust(settings.trustedProxies, settings.jobNetwork)
  edge.allowRewrites(settings.rewriteHosts)
  if (countsPaths) edge.countPaths()
  if (recordsRequests) edge.recordRequests()
  await edge.openCache(cache)
  edge.changeRoutes(table.setRoutes(await saved.load()))
  if (tls) edge.secure.changeCertificates({ set: await savedCertificates.load(), removed: [] })
  const files = filesSocket === undefined ? undefined : followFiles({ path: filesSocket, greeting, edge, table })
  const control = followControl({
    addresses: controls,
    greeting,
    edge,
    table,
    saved,
    savedCertificates,
    lease,
    files,
    isGone,
    report,
  })
  const agent = followAgent({ ...instances, lease: addresses, greeting, edge, table, jobSockets, isGone })
  await Promise.race([control.begun, sleep(FIRST_LEASE_MS)])
  await begin(edge.http, listen)
  if (tls) {
    await begin(edge.secure.server, tls.listen)
    edge.secure.redirectTo(tls.publicPort)
    edge.secure.setHsts(tls.hstsSeconds)
  }
  const activity = setInterval(() => {
    const deployments = edge.takeActivity()
    if (deployments) agent.notify('activity', deployments)
    const environments = edge.takeCounts()
    if (environments) control.notify('traffic', environments)
  }, ACTIVITY_MS)
  let wasLoaded = false
  const loads = setInterval(() => {
    const load = edge.load()
    const isLoaded = Object.keys(load).length > 0
    if (isLoaded || wasLoaded) agent.notify('load', load)
    wasLoaded = isLoaded
  }, LOAD_MS)
  const requests = recordsRequests ? reportRequests(edge, control) : undefined
  const forgetStalls = watchStalls((stall) => control.notify('stalled', stall))

  const address = edge.http.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    /** Accepts no new connection, and resolves when the last one is closed. `isReplaced`: another edge accepts in its place. */
    async stop({ isReplaced }: { isReplaced: boolean }) {
      if (isReplaced) saved.close()
      if (isReplaced) savedCertificates.close()
      await (isReplaced ? edge.retire() : edge.stop())
      clearInterval(activity)
      clearInterval(loads)
      await edge.closeCache()
      await requests?.stop()
      await control.leave(edge.takeCounts() ?? {})
      forgetStalls()
      await Promise.all([control.stop(), agent.stop(), files?.stop()])
    },
  }
}

function begin(server: Server, listen: Listening): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(listen, resolve)
  })
}

/** Calls back with the same text once in this time. */
function oncePer(ms: number, callBack: (text: string) => void) {
  const recent = new Set<string>()
  return (text: string) => {
    if (recent.has(text)) return
    recent.add(text)
    setTimeout(() => recent.delete(text), ms).unref()
    callBack(text)
  }
}
