/**
 * The right of a control process to grant leases to its edges, beside others that use the same database. A purge waits for every
 * edge on record, so an edge with a lease has to stay on record; and an edge whose control process died has to be removed at some
 * time, by another one.
 *
 *   this process is …   found out by              it may grant leases until
 *   alone               reading who is there      a lease after the reading began
 *   one of several      raising its heartbeats    a lease after that began
 *   unknown             neither succeeded         as above, of the last success: then it grants none
 *
 *   another one is …    seen as                              becomes
 *   there               its heartbeats have changed          silent
 *   silent              they have not, since they were seen  there, when they change; removed with its edges, after a lease
 *   gone                edges on record without it           removed, after a lease
 *
 * Why no edge with a lease is removed: its leases end at most a lease after the heartbeats (or the reading) began that they were
 * granted under. Another process sees those heartbeats after they were recorded (or has recorded itself after that reading), waits
 * as long from then, and removes nothing if they have changed. One that was removed finds that out when it raises its
 * heartbeats, or reads who is there, and records its edges again before it grants anything. Each process measures times by its own monotonic
 * clock; no clock is compared with another one.
 *
 * One process alone only reads, once a second: nothing is written for a renewal.
 */
import { type Clock, type Log, repeat } from '../../base/index.ts'
import type { EdgeConnection, EdgeRecords } from './records.ts'

/** How often it is found out who is there, in parts of a lease, but not more than once in a second. */
const CHECKS_IN_LEASE = 5
const MIN_CHECK_MS = 1000
/** How often the heartbeats are raised beside others, in the same way. */
const HEARTBEATS_IN_LEASE = 10

/** Monotonic clocks of two machines may run apart by one hundredth: far more than they do. */
export const withMargin = (leaseMs: number): number => leaseMs * 1.01

type Parts = {
  clock: Clock
  log: Log
  records: EdgeRecords
  /** The name of this process. */
  control: string
  leaseMs: number
  /** Monotonic. */
  now(): number
  /** The edges that are connected to this process. */
  edges(): readonly EdgeConnection[]
  /** Whether this process knows an edge: it may have a lease. */
  isKnown(process: string): boolean
}

export async function createStanding({
  clock,
  log,
  records,
  control,
  leaseMs,
  now,
  edges,
  isKnown: isKnownEdge,
}: Parts) {
  let heartbeats = 0
  let heartbeatTime = Number.NEGATIVE_INFINITY
  let until = Number.NEGATIVE_INFINITY
  let count = 1
  const seen = new Map<string, { heartbeats: number | null; since: number }>()

  async function raise(added?: EdgeConnection): Promise<boolean> {
    const began = now()
    heartbeats += 1
    const { wasKnown, isAdded } = await records.heartbeat({ process: control, heartbeats }, edges(), added)
    // While it was not on record, another one may have been alone: what was seen of it before says nothing.
    if (!wasKnown) seen.clear()
    heartbeatTime = Math.max(heartbeatTime, began)
    until = Math.max(until, began + leaseMs)
    return isAdded
  }

  async function check() {
    const began = now()
    const controls = new Map((await records.controls()).map((one) => [one.process, one.heartbeats]))
    const isKnown = controls.delete(control)
    count = controls.size + 1
    if (isKnown && controls.size === 0) until = Math.max(until, began + leaseMs)
    else if (!isKnown || began >= heartbeatTime + leaseMs / HEARTBEATS_IN_LEASE) await raise()
    if (isKnown) await watch(controls)
  }

  async function watch(controls: ReadonlyMap<string, number>) {
    const rows = await records.edges()
    const others = new Set([...controls.keys(), ...rows.map((row) => row.control)])
    others.delete(control)
    // One that could not be removed when its lease was over.
    for (const row of rows)
      if (row.control === control && !isKnownEdge(row.process)) await records.removeEdge(row, control)
    for (const name of seen.keys()) if (!others.has(name)) seen.delete(name)
    for (const name of others) {
      const found = controls.get(name) ?? null
      const before = seen.get(name)
      if (before?.heartbeats !== found || !before) seen.set(name, { heartbeats: found, since: now() })
      else if (now() >= before.since + withMargin(leaseMs)) await remove(name, found)
    }
  }

  async function remove(process: string, found: number | null) {
    seen.delete(process)
    const isRemoved = await records.fence({ process, heartbeats: found }, control)
    if (isRemoved) log.info({ control: process }, 'a control process that is gone was removed')
  }

  await raise()
  const checking = repeat(clock, Math.min(MIN_CHECK_MS, leaseMs / CHECKS_IN_LEASE), () =>
    // Without the database no lease can be granted, and no purge be made.
    check().catch((error) => log.debug({ err: error }, 'it cannot be found out which control processes there are')),
  )

  return {
    /** For how long a lease may be granted now; 0 if none may. */
    grantMs: (): number => Math.max(0, Math.min(leaseMs, until - now())),
    /** How many control processes there are, with this one. */
    count: (): number => count,
    /** Records an edge that connects; false if it has a later connection. Its lease of another process counts as granted by this one. */
    add: raise,
    async stop() {
      await checking.stop()
    },
  }
}
