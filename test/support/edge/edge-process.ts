/** An edge in a process of its own; this process is the control process and the agent that it follows. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createListeners, createLog, isProcessGone, processName, systemClock } from '../../../src/base/index.ts'
import { type Caller, createCaller, type Frame, listenToPeers, PROTOCOL } from '../../../src/channel/index.ts'
import {
  type AgentMethodsForEdge,
  type ControlRow,
  createEdgeTls,
  type EdgeMember,
  type EdgeMethodsForAgent,
  type EdgeRecords,
  type EdgeRow,
  type EdgeSettings,
  listenToEdges,
  type Purge,
} from '../../../src/edge/index.ts'
import type { NumberedPurge } from '../../../src/edge/process/messages.ts'
import type { EdgeCertificate } from '../../../src/edge/tls/types.ts'
import { FIRST_SOCKET } from '../../../src/processes/child.ts'
import { openSocket } from '../../../src/processes/sockets.ts'
import { supervise } from '../../../src/processes/supervised.ts'
import { until } from '../until.ts'
import type { Routes } from './publish.ts'

const PROGRAM = fileURLToPath(new URL('./edge-program.ts', import.meta.url))

type Given = {
  /** Routes are saved here, and sockets are made here. */
  folder: string
  cache: EdgeSettings['cache']
  countsPaths?: boolean
  recordsRequests?: boolean
  records?: EdgeRecords
  /** Serves TLS with these. */
  certificates?: readonly EdgeCertificate[]
}

export async function startEdge(given: Given) {
  const { folder, cache, countsPaths = false, recordsRequests = false, records = inMemory(), certificates } = given
  const clock = systemClock
  const log = createLog('silent')
  const greetingOf = (role: string) => ({ protocol: PROTOCOL, role, process: processName(), version: 'test' })
  const [controlSocket, agentSocket] = [join(folder, 'control.sock'), join(folder, 'agent.sock')]
  let renewals = 0
  const counted: EdgeRecords = {
    ...records,
    purgesSince(number) {
      renewals++
      return records.purgesSince(number)
    },
  }
  const listen = () =>
    listenToEdges({ clock, log, path: controlSocket, greeting: greetingOf('control'), records: counted })
  let edges = await listen()
  const woken = createListeners<string>()
  const active = createListeners<Record<string, number>>()
  /** Nothing is sent before: an edge that is told of no environment forgets what it has stored. */
  let published: Routes | undefined
  let revision = 0
  let agent: Caller<EdgeMethodsForAgent> | undefined

  const sendRoutes = async (member: EdgeMember) => {
    if (published) await edges.setRoutes(member, { routes: published.routes, isWhole: true, revision: ++revision })
    else member.isRouted = true
  }
  edges.onConnected((member) => void sendRoutes(member))
  const isLeased = async () => {
    if (!edges.isServing() || agent === undefined || renewals === 0) return false
    // The answer to its renewal arrives before this message.
    await edges.inspect('none', 'http://none/')
    return true
  }
  const agentServer = await listenToPeers<Frame, Frame>({
    address: agentSocket,
    greeting: greetingOf('agent'),
    onPeer(peer) {
      const methods: AgentMethodsForEdge = {
        wake: woken.notify,
        activity: active.notify,
        load: () => undefined,
        listensToJobs: async () => undefined,
        loopDetected: async () => undefined,
        isThere: () => true,
      }
      const connected = createCaller<EdgeMethodsForAgent>(peer, methods)
      agent = connected
      connected.closed.then(() => {
        if (agent === connected) agent = undefined
      })
      connected.notify('setInstances', { reports: published?.reports ?? {}, isWhole: true })
    },
    onRefused: (error) => log.error({ err: error }, 'an edge was refused'),
  })

  const socket = await openSocket({ host: '127.0.0.1', port: 0 })
  const tlsSocket = certificates && (await openSocket({ host: '127.0.0.1', port: 0 }))
  const settings: EdgeSettings = {
    name: '',
    version: 'test',
    listen: { fd: FIRST_SOCKET },
    tls: tlsSocket && {
      listen: { fd: FIRST_SOCKET + 1 },
      publicPort: tlsSocket.address.port,
      portal: undefined,
      hstsSeconds: 0,
    },
    routesFile: join(folder, 'routes.log'),
    certificatesFile: join(folder, 'certificates.json'),
    trustedProxies: [],
    rewriteHosts: [],
    countsPaths,
    recordsRequests,
    cache,
    controls: [controlSocket],
    instances: { addresses: [agentSocket], isElsewhere: false },
  }
  const edge = await supervise<null>({
    clock,
    log,
    role: 'edge',
    command: () => [process.execPath, PROGRAM],
    sockets: () => [socket, ...(tlsSocket ? [tlsSocket] : [])],
    begin: () => ({ ...settings, name: `test ${++started}` }),
  })
  await until(isLeased)
  const edgeTls = createEdgeTls({ clock, edges })
  if (certificates) await edgeTls.setCertificates(certificates)

  return {
    address: socket.address,
    tlsAddress: tlsSocket?.address,
    pid: edge.pid,
    isServing: () => edges.isServing(),
    onTraffic: edges.onTraffic,
    onStall: edges.onStall,
    purge: (purge: Purge) => edges.purge(purge),
    inspect: (environment: string, url: string) => edges.inspect(environment, url),
    /** The control process is gone. */
    async leave() {
      await edges.close(0)
    },
    /** Another control process takes its place. */
    async comeBack() {
      edges = await listen()
      edges.onConnected((member) => void sendRoutes(member))
    },
    /** Resolves when the process that was started last uses what it has stored. */
    async leased() {
      renewals = 0
      await until(isLeased)
    },
    /** Resolves when the edge uses these, and no others. */
    async publish(next: Routes) {
      published = next
      await agent?.call('setInstances', { reports: next.reports, isWhole: true })
      await Promise.all(edges.serving().map(sendRoutes))
    },
    drain: async (instance: string, graceMs: number) =>
      agent?.call('drain', { instance, graceMs }).catch(() => undefined),
    onWake: woken.add,
    onActivity: active.add,
    async stop(graceMs: number) {
      await edge.stop(graceMs)
      socket.handle.close()
      tlsSocket?.handle.close()
      await edges.close(0)
      await agentServer.close()
    },
  }
}

export type TestEdgeProcess = Awaited<ReturnType<typeof startEdge>>

let started = 0

/** What the database keeps. */
function inMemory(): EdgeRecords {
  const purges: NumberedPurge[] = []
  const edges = new Map<string, EdgeRow>()
  const controls = new Map<string, ControlRow>()
  const removeOf = (control: string) => {
    for (const row of edges.values()) if (row.control === control) edges.delete(row.process)
    return controls.delete(control)
  }
  return {
    addPurge: async (purge) => purges.push({ number: purges.length + 1, purge }),
    purgesSince: async (number) => ({ purges: purges.slice(number) }),
    lastPurge: async () => purges.length,
    controls: async () => [...controls.values()],
    edges: async () => [...edges.values()],
    async heartbeat(control, _, added) {
      const wasKnown = controls.has(control.process)
      controls.set(control.process, { routed: null, ...control })
      if (added) edges.set(added.process, { ...added, control: control.process, applied: 0 })
      return { wasKnown, isAdded: added !== undefined }
    },
    setRouted: async () => undefined,
    confirm: async () => undefined,
    async removeEdge({ process }, control) {
      if (edges.get(process)?.control === control) edges.delete(process)
    },
    removeControl: async (process) => void controls.delete(process),
    fence: async ({ process }) => removeOf(process),
    onHint: () => () => undefined,
    isGone: isProcessGone,
  }
}
