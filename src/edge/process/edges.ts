/**
 * The edges as a control process sees them: processes that connect to its socket, or to its port from other machines. It sends
 * them routes and purges, and learns what they count.
 */
import { type Clock, createListeners, type Log, pollUntil, settlesWithin } from '../../base/index.ts'
import {
  type Caller,
  type ClusterPort,
  createCaller,
  type Frame,
  type Greeting,
  listenToPeers,
  type Peer,
} from '../../channel/index.ts'
import type { Stall } from '../../watchdog/index.ts'
import type { Inspection } from '../cache/index.ts'
import type { Counts } from '../counts.ts'
import type { RequestRecords } from '../request-log/record.ts'
import type { EnvironmentRoutes } from '../routes.ts'
import { LEASE_MS } from './lease.ts'
import { createMember, type EdgeMember } from './member.ts'
import type { ControlMethodsForEdge, EdgeMethodsForControl } from './messages.ts'
import { createPurging } from './purging.ts'
import type { EdgeRecords } from './records.ts'
import { createRouted } from './routed.ts'
import { createStanding } from './standing.ts'

type Parts = {
  clock: Clock
  log: Log
  path: string
  /** Where edges of other machines connect. Closed with the edges. */
  port?: ClusterPort | undefined
  greeting: Greeting
  records: EdgeRecords
  leaseMs?: number
  now?(): number
}

type SentRoutes = { routes: EnvironmentRoutes[]; isWhole: boolean; revision: number }

/** An edge that does not confirm its routes within this time is not waited for: it is stopped, or overloaded. */
const ROUTES_MS = 10_000
const ROUTED_POLL_MS = 20
/** A renewal waits so long for the routes; then the edge tries again. */
const ROUTES_FIRST = { pauseMs: ROUTED_POLL_MS, timeoutMs: 500 }

export async function listenToEdges(parts: Parts) {
  const { clock, log, path, port, greeting, records, leaseMs = LEASE_MS, now = () => performance.now() } = parts
  const control = greeting.process
  const stopping = new AbortController()
  const members = new Map<string, EdgeMember>()
  const connected = createListeners<EdgeMember>()
  const stalls = createListeners<Stall>()
  const traffic = createListeners<Record<string, Counts>>()
  const requests = createListeners<RequestRecords>()
  const serving = () => [...members.values()].filter((member) => member.connection())

  const standing = await createStanding({
    ...{ clock, log, records, control, leaseMs, now },
    edges: () => serving().map(({ process, number: connection }) => ({ process, connection })),
    isKnown: (process) => members.has(process),
  })
  const purging = await createPurging({ clock, log, records, control, leaseMs, now, members })
  const { routed, untilOthersRouted } = createRouted({ clock, records, control })

  const isConnected = (process: string) => members.get(process)?.connection() !== undefined
  const newMember = (process: string) =>
    createMember({ clock, process, isGone: records.isGone, leaseMs, now, onProgress: () => purging.progressed() })

  async function connect(peer: Peer<Frame, Frame>) {
    const process = nameOf(peer)
    const connection = peer.greeting.connection ?? 0
    const member = members.get(process) ?? newMember(process)
    member.met(connection)
    members.set(process, member)
    try {
      await serve(peer, member)
    } finally {
      peer.close()
      await forget(member)
    }
  }

  async function serve(peer: Peer<Frame, Frame>, member: EdgeMember) {
    const { process, number } = member
    const methods: ControlMethodsForEdge = {
      async renew(applied) {
        // What it has stored belongs to the deployments of its routes. Its confirmation may be in the same packet.
        if (!member.isRouted) await new Promise((resolve) => setImmediate(resolve))
        if (!member.isRouted) await pollUntil(clock, () => member.isRouted, ROUTES_FIRST)
        if (!member.isRouted) throw new Error('the routes come first')
        const missed = await records.purgesSince(applied)
        const grantMs = standing.grantMs()
        if (grantMs === 0) throw new Error('no lease can be granted now')
        // One that followed another database has applied other purges under the same numbers.
        member.renewed('purges' in missed ? applied : 0)
        return { ...missed, leaseMs: grantMs }
      },
      traffic: traffic.notify,
      requests: requests.notify,
      leave: () => member.left(),
      stalled: stalls.notify,
      trouble: (message) => log.error({ trouble: message }, 'the edge met a fault, and goes on'),
    }
    // Recorded before its first renewal is answered, so that every control process knows of it.
    if (!(await standing.add({ process, connection: number }))) return
    const caller = createCaller<EdgeMethodsForControl>(peer, methods)
    member.revision = await caller.call('revision', null)
    member.connected(caller)
    connected.notify(member)
    if (peer.node !== undefined) void removeGone(peer.node, caller, { log, records, isConnected })
    await caller.closed
    member.disconnected(caller)
  }

  async function forget(member: EdgeMember) {
    if (!(await member.forgotten(stopping.signal)) || members.get(member.process) !== member) return
    members.delete(member.process)
    await records
      .removeEdge({ process: member.process, connection: member.number }, control)
      .catch((error) => log.warn({ err: error }, 'an edge that is gone is still on record'))
  }

  const accepting = {
    greeting,
    onPeer(peer: Peer<Frame, Frame>) {
      connect(peer).catch((error) => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'an edge was lost while it connected')
      })
    },
    onRefused: (error: unknown) => log.warn({ err: error }, 'a process could not connect as an edge'),
  }
  const socket = await listenToPeers<Frame, Frame>({ ...accepting, address: path })
  port?.serve({ role: 'edge' }, accepting.onPeer)

  return {
    /** How long an edge may use what it has stored without an answer of this process. */
    leaseMs,
    /** Each new connection, with the routes that the edge has. */
    onConnected: connected.add,
    onTraffic: traffic.add,
    onRequests: requests.add,
    /** The event loop of an edge was blocked. */
    onStall: stalls.add,

    /** The names of all control processes that have edges. */
    controls: async (): Promise<string[]> => (await records.controls()).map(({ process }) => process),

    /** How many they were a moment ago, with this one. */
    controlCount: standing.count,

    isServing: (): boolean => serving().length > 0,
    serving,

    /** Resolves when this many edges use the routes of now, or after a time: those that are missing get theirs when they connect. */
    async untilRouted(count: number): Promise<void> {
      const isRouted = () => serving().filter((member) => member.isRouted).length >= count
      await pollUntil(clock, isRouted, { pauseMs: ROUTED_POLL_MS, timeoutMs: ROUTES_MS })
    },

    /**
     * Sends them at once. Resolves when the edge uses these routes, is lost, or did not answer for long. Later routes may be sent
     * and confirmed meanwhile.
     */
    setRoutes(member: EdgeMember, sent: SentRoutes): Promise<void> {
      const confirmed = member.connection()?.call('setRoutes', sent)
      member.sentRevision = sent.revision
      const used = untilUsed(clock, member, sent, confirmed)
      member.routed = Promise.all([member.routed, used])
      return used
    },

    /** The edges of this process use the routes of this revision: other control processes may wait for that. */
    routed,
    /** Resolves when the edges of all other control processes use the routes of this revision, or after a time. */
    untilOthersRouted,

    /** Resolves when no edge answers a later request with what is purged. */
    purge: purging.purge,

    /** What is stored for a URL of the environment, at the edge that has most recently connected. */
    async inspect(environment: string, url: string, signal?: AbortSignal): Promise<Inspection> {
      const connection = serving().at(-1)?.connection()
      if (!connection) throw new Error('no edge is connected')
      return connection.call('inspect', { environment, url }, signal)
    },

    /** Edges connect to this process again, after another one had taken its place. */
    reopen: socket.reopen,

    /** Resolves when all edges are gone, or after this time. */
    async close(graceMs: number) {
      const all = Promise.all(serving().map((member) => member.connection()?.closed))
      await settlesWithin(clock, all, graceMs)
      stopping.abort()
      await Promise.all([socket.close(), port?.close()])
      await Promise.all([standing.stop(), purging.stop()])
      // Without it, the others wait for the end of a lease before they remove this process.
      await records
        .removeControl(control)
        .catch((error) => log.debug({ err: error }, 'this control process is still on record'))
    },
  }
}

async function untilUsed(
  clock: Clock,
  member: EdgeMember,
  { revision }: SentRoutes,
  confirmed: Promise<void> | undefined,
) {
  const { sends } = member
  const number = ++sends.sent
  const answered = confirmed?.catch(() => undefined)
  // What it did not confirm is sent again.
  if (!answered || !(await settlesWithin(clock, answered, ROUTES_MS))) member.sentRevision = member.revision
  // Routes that were sent later may be in use already: it took them in the same order.
  else if (number > sends.confirmed) {
    sends.confirmed = number
    member.revision = revision
    member.isRouted = true
  }
}

type Known = Pick<Parts, 'log' | 'records'> & { isConnected(process: string): boolean }

/** An edge that was started again knows that the one before it is gone: nothing waits for the end of its lease then. */
async function removeGone(node: string, caller: Caller<EdgeMethodsForControl>, { log, records, isConnected }: Known) {
  try {
    for (const row of await records.edges()) {
      const isElse = !row.process.startsWith(nodePrefix(node)) || isConnected(row.process)
      if (isElse || !(await caller.call('isGone', row.process.slice(nodePrefix(node).length)))) continue
      await records.removeEdge(row, row.control)
    }
  } catch (error) {
    log.debug({ err: error }, 'edges that are gone stay on record until their leases are over')
  }
}

/** One of another machine cannot take the name of another node. */
const nameOf = ({ node, greeting }: Peer<Frame, Frame>): string =>
  node === undefined ? greeting.process : `${nodePrefix(node)}${greeting.process}`

const nodePrefix = (node: string): string => `${node}: `

export type Edges = Awaited<ReturnType<typeof listenToEdges>>
