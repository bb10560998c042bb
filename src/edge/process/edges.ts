/**
 * The edges as the control process sees them: processes that connect to its socket. It sends them routes and purges, and learns
 * what they count.
 */
import { type Clock, createListeners, type Log, pollUntil, settlesWithin } from '../../base/index.ts'
import { createCaller, type Frame, type Greeting, listenToPeers, type Peer } from '../../channel/index.ts'
import type { Stall } from '../../watchdog/index.ts'
import type { Inspection, Purge } from '../cache/index.ts'
import type { Counts } from '../counts.ts'
import type { RequestRecords } from '../request-log/record.ts'
import type { EnvironmentRoutes } from '../routes.ts'
import { LEASE_MS } from './lease.ts'
import { createMember, type EdgeMember } from './member.ts'
import type { ControlMethodsForEdge, EdgeMethodsForControl, MissedPurges } from './messages.ts'

/** Where purges and edges are recorded. */
export type EdgeRecords = {
  /** Records a purge; later ones have higher numbers. */
  addPurge(purge: Purge): Promise<number>
  purgesSince(number: number): Promise<MissedPurges>
  /** An edge may use what it has stored from now on. */
  addEdge(process: string): Promise<void>
  removeEdge(process: string): Promise<void>
  edges(): Promise<string[]>
  /** Whether the process of an edge is gone; true only when it is certain. */
  isGone(process: string): boolean
}

type Parts = {
  clock: Clock
  log: Log
  path: string
  greeting: Greeting
  records: EdgeRecords
  leaseMs?: number
  now?(): number
}

/** An edge that does not confirm its routes within this time is not waited for: it is stopped, or overloaded. */
const ROUTES_MS = 10_000
const ROUTED_POLL_MS = 20

export async function listenToEdges(parts: Parts) {
  const { clock, log, path, greeting, records, leaseMs = LEASE_MS, now = () => performance.now() } = parts
  const stopping = new AbortController()
  const members = new Map<string, EdgeMember>()
  const connected = createListeners<EdgeMember>()
  const stalls = createListeners<Stall>()
  const traffic = createListeners<Record<string, Counts>>()
  const requests = createListeners<RequestRecords>()

  const newMember = (process: string) => createMember({ clock, process, isGone: records.isGone, leaseMs, now })
  for (const process of await records.edges()) {
    const member = newMember(process)
    members.set(process, member)
    void forget(member)
  }

  async function connect(peer: Peer<Frame, Frame>) {
    const { process } = peer.greeting
    const member = members.get(process) ?? newMember(process)
    const methods: ControlMethodsForEdge = {
      async renew(applied) {
        // What it has stored belongs to the deployments of its routes. Its confirmation may be in the same packet.
        if (!member.isRouted) await new Promise((resolve) => setImmediate(resolve))
        if (!member.isRouted) throw new Error('the routes come first')
        const missed = await records.purgesSince(applied)
        member.renewed(applied)
        return { ...missed, leaseMs }
      },
      traffic: traffic.notify,
      requests: requests.notify,
      stalled: stalls.notify,
      trouble: (message) => log.error({ trouble: message }, 'the edge met a fault, and goes on'),
    }
    // Recorded before its first renewal is answered, so that the next control process knows of it.
    await records.addEdge(process)
    members.set(process, member)
    const connection = createCaller<EdgeMethodsForControl>(peer, methods)
    member.revision = await connection.call('revision', null)
    member.connected(connection)
    connected.notify(member)
    await connection.closed
    member.disconnected(connection)
    await forget(member)
  }

  async function forget(member: EdgeMember) {
    if (!(await member.forgotten(stopping.signal)) || members.get(member.process) !== member) return
    members.delete(member.process)
    await records
      .removeEdge(member.process)
      .catch((error) => log.warn({ err: error }, 'an edge that is gone is still on record'))
  }

  const serving = () => [...members.values()].filter((member) => member.connection())

  const socket = await listenToPeers<Frame, Frame>({
    path,
    greeting,
    onPeer(peer) {
      connect(peer).catch((error) => {
        if (!stopping.signal.aborted) log.warn({ err: error }, 'an edge was lost while it connected')
        peer.close()
      })
    },
    onRefused: (error) => log.warn({ err: error }, 'a process could not connect as an edge'),
  })

  return {
    /** How long an edge may use what it has stored without an answer of this process. */
    leaseMs,
    /** Each new connection, with the routes that the edge has. */
    onConnected: connected.add,
    onTraffic: traffic.add,
    onRequests: requests.add,
    /** The event loop of an edge was blocked. */
    onStall: stalls.add,

    isServing: (): boolean => serving().length > 0,
    serving,

    /** Resolves when this many edges use the routes of now, or after a time: those that are missing get theirs when they connect. */
    async untilRouted(count: number): Promise<void> {
      const isRouted = () => serving().filter((member) => member.isRouted).length >= count
      await pollUntil(clock, isRouted, { pauseMs: ROUTED_POLL_MS, timeoutMs: ROUTES_MS })
    },

    /** Resolves when the edge uses these routes, is lost, or did not answer for long. */
    async setRoutes(
      member: EdgeMember,
      sent: { routes: EnvironmentRoutes[]; isWhole: boolean; revision: number },
    ): Promise<void> {
      const confirmed = member.connection()?.call('setRoutes', sent)
      const isInUse =
        confirmed !== undefined &&
        (await settlesWithin(
          clock,
          confirmed.catch(() => undefined),
          ROUTES_MS,
        ))
      if (!isInUse) return
      member.revision = sent.revision
      member.isRouted = true
    },

    /** Resolves when no edge answers a later request with what is purged. */
    async purge(purge: Purge, signal?: AbortSignal): Promise<void> {
      const number = await records.addPurge(purge)
      await Promise.all([...members.values()].map((member) => member.settle({ number, purge }, signal)))
    },

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
      await socket.close()
    },
  }
}

export type Edges = Awaited<ReturnType<typeof listenToEdges>>
