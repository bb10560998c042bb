/**
 * The nodes of a cluster, seen from a control process: which of them have certainly the firewall that keeps apps apart. An instance
 * on another node is not given to edges.
 *
 *   a node is …    found out by                                             becomes
 *   unconfirmed    its row has no revision, or one that is not accepted     confirmed, when it has confirmed an accepted one
 *   confirmed      its row has an accepted revision                         silent, while its heartbeats do not change
 *   silent         the same heartbeats as before                            confirmed, when they change; unconfirmed, after a lease
 *
 * The kernel keeps the rules when the process of the role is lost, so a confirmation is good for a lease. A revision that is replaced
 * is accepted for as long, or a change of the rules would take every app away until its node has them. Both times are counted
 * by each control process on its own clock, and only while it can read the rows: without the database nothing is confirmed,
 * and no node is withdrawn for that. No clock is compared with another one.
 */
import { type Changes, type Clock, createListeners, type Log, repeat, shareNext } from '../base/index.ts'
import { type Caller, createCaller, type Frame, type Peer } from '../channel/index.ts'
import type { LeaderWork, Sql, Term } from '../storage/index.ts'
import { type Docker, type Isolation, isolationRules, REGION_LABEL } from '../swarm/index.ts'
import {
  type ControlMethodsForNode,
  checkDescription,
  checkMemory,
  type NodeDescription,
  type NodeMethodsForControl,
  type NodeRules,
} from './messages.ts'
import { createNodeRecords, type NodeConnection, NodeRefused, type NodeRow, type SwarmMember } from './records.ts'

/** How long a confirmation is good without another one. */
export const NODE_LEASE_MS = 60_000
const READ_MS = 1000
/** A longer pause between two reads does not count as a whole: this process may have been stopped. */
const MAX_COUNTED_MS = 2 * READ_MS
const OBSERVE_MS = 10_000

const NO_RULES = 'a node does not have the rules that keep apps apart'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  changes: Pick<Changes, 'follow'>
  /** The name of this control process. */
  control: string
  leaseMs?: number
  /** Monotonic. */
  now?(): number
}

/** In bytes, by instance. */
export type MeasuredNode = { node: string; used: Readonly<Record<string, number>> }

/** How long the heartbeats of a node have been these. */
type Silence = { heartbeats: number; ms: number }

export function createNodes(parts: Parts) {
  const { clock, log, control, leaseMs = NODE_LEASE_MS, now = () => performance.now() } = parts
  const records = createNodeRecords(parts)
  const changed = createListeners<void>()
  const measured = createListeners<MeasuredNode>()
  const followers = new Set<Caller<NodeMethodsForControl>>()
  const silences = new Map<string, Silence>()
  /** Revisions that were replaced, and for how long. */
  const replaced = new Map<number, number>()
  let rules: NodeRules | undefined
  let confirmed: ReadonlySet<string> = new Set()
  let readTime: number | undefined
  let reading: { stop(): Promise<void> } | undefined
  let forgetHints: (() => void) | undefined

  const read = shareNext(async () => {
    const [found, rows] = [await records.rules(), await records.nodes()]
    const counted = readTime === undefined ? 0 : Math.min(now() - readTime, MAX_COUNTED_MS)
    readTime = now()
    count(counted, rows)
    use(found)
    const before = confirmed
    confirmed = new Set(rows.flatMap((row) => (isGood(row) ? row.id : [])))
    if (confirmed.symmetricDifference(before).size > 0) {
      log.info({ nodes: [...confirmed] }, 'the nodes whose isolation is confirmed have changed')
      changed.notify()
    }
    for (const row of rows)
      if (row.confirmed > 0 && isSilent(row) && (await records.expire(row)))
        log.warn({ node: row.name, id: row.id }, 'a node does not confirm its isolation any more')
  })
  const tryReading = () => read().catch((error) => log.debug({ err: error }, 'the nodes cannot be read'))

  function count(ms: number, rows: readonly NodeRow[]) {
    for (const { id, heartbeats } of rows) {
      const before = silences.get(id)
      silences.set(id, { heartbeats, ms: before?.heartbeats === heartbeats ? before.ms + ms : 0 })
    }
    const ids = new Set(rows.map(({ id }) => id))
    for (const id of silences.keys()) if (!ids.has(id)) silences.delete(id)
    for (const [revision, age] of replaced)
      if (age + ms >= leaseMs) replaced.delete(revision)
      else replaced.set(revision, age + ms)
  }

  function use(found: NodeRules | undefined) {
    if (found?.revision === rules?.revision) return
    if (rules) replaced.set(rules.revision, 0)
    rules = found
    if (!rules) return
    replaced.delete(rules.revision)
    for (const follower of followers) follower.notify('setRules', rules)
  }

  const isSilent = ({ id }: NodeRow): boolean => (silences.get(id)?.ms ?? 0) >= leaseMs
  const isAccepted = (revision: number): boolean => revision === rules?.revision || replaced.has(revision)
  const isGood = (row: NodeRow): boolean => row.confirmed > 0 && isAccepted(row.confirmed) && !isSilent(row)

  return {
    /** Whether the node, by its id in the swarm, has confirmed that it keeps apps apart. */
    isConfirmed: (id: string): boolean => confirmed.has(id),
    /** Calls back when another node is confirmed, or one is not any more. Returns the function that unsubscribes. */
    onChange: (listener: () => void): (() => void) => changed.add(listener),

    /** Calls back with what the instances of a node use, of nodes that follow this process. Returns the function that unsubscribes. */
    onMemory: (listener: (of: MeasuredNode) => void): (() => void) => measured.add(listener),

    /** Reads the rows now, as it does each second. */
    read,

    /** What the firewalls are made of, from the settings of this process. Where others were there before, nodes get these. */
    async setRules(isolation: Isolation) {
      // Refuses what cannot be a rule.
      isolationRules(isolation)
      // Those that are replaced are accepted for a while.
      await read()
      await records.setRules(inOrder(isolation))
      await read()
    },

    /** Resolves when it is known which nodes are confirmed. */
    async start() {
      await read()
      reading = repeat(clock, READ_MS, tryReading)
      forgetHints = records.onHint(() => void tryReading())
    },

    async stop() {
      forgetHints?.()
      await reading?.stop()
      for (const follower of followers) follower.close()
    },

    /** For each connection of the role `node`. */
    serveNode(peer: Peer<Frame, Frame>) {
      const { greeting, node: name } = peer
      if (name === undefined) return peer.close()
      const connection: NodeConnection = {
        name,
        process: greeting.process,
        connection: greeting.connection ?? 0,
        control,
      }
      let id: string | undefined
      /** What was logged last: a node tries again every few seconds. */
      let logged = ''
      const methods: ControlMethodsForNode = {
        async join(given: NodeDescription) {
          const node = checkDescription(given)
          await records.join(node, connection).catch((error) => {
            if (error instanceof NodeRefused && error.message !== logged) {
              logged = error.message
              log.warn({ node: name, id: node.id }, logged)
            }
            throw error
          })
          if (id !== node.id) log.info({ node: name, id: node.id, hostname: node.hostname }, 'a node has connected')
          id = node.id
          return rules ?? null
        },
        async confirm(revision) {
          if (id === undefined) return false
          const isRevision = revision === null || (Number.isSafeInteger(revision) && revision >= 0)
          if (!isRevision) throw new Error('this is no revision')
          if (revision === null && logged !== NO_RULES) log.error({ node: name, id }, NO_RULES)
          logged = revision === null ? NO_RULES : ''
          return records.confirm(id, connection, revision)
        },
        memory(used) {
          if (id !== undefined) measured.notify({ node: id, used: checkMemory(used) })
        },
      }
      const follower = createCaller<NodeMethodsForControl>(peer, methods)
      followers.add(follower)
      follower.closed.then(() => followers.delete(follower))
    },

    /** Records where nodes are, as the swarm has it, and forgets those that have left it. */
    lead:
      ({ docker }: { docker: Pick<Docker, 'nodes'> }): LeaderWork =>
      (term) =>
        repeat(clock, OBSERVE_MS, () => observe(docker, term), { isImmediate: true }),
  }

  async function observe(docker: Pick<Docker, 'nodes'>, term: Term) {
    try {
      const members = (await docker.nodes()).map(
        ({ ID, Spec, Description, Status, ManagerStatus }): SwarmMember => ({
          id: ID,
          hostname: Description.Hostname,
          // A manager sees itself at 0.0.0.0.
          address: ManagerStatus?.Addr.replace(/:\d+$/, '') ?? Status.Addr ?? '',
          region: Spec.Labels?.[REGION_LABEL] ?? '',
          state: Status.State === 'ready' && Spec.Availability !== 'active' ? Spec.Availability : Status.State,
        }),
      )
      if (!term.isOver()) await records.observe(members, term)
    } catch (error) {
      if (!term.isOver()) log.warn({ err: error }, 'the nodes of the swarm could not be recorded')
    }
  }
}

export type Nodes = ReturnType<typeof createNodes>

/** The same rules are the same text, in whichever order the settings have them. */
function inOrder({ edges, blocked, allowed, resolvers }: Isolation): Isolation {
  const sorted = (texts: readonly string[]) => [...new Set(texts)].toSorted()
  const ports = new Map(allowed.map(({ address, port }) => [`${address}:${port}`, { address, port }]))
  return {
    edges: sorted(edges),
    blocked: sorted(blocked),
    allowed: [...ports].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one),
    resolvers: sorted(resolvers),
  }
}
