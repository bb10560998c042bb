/**
 * Apps of a cluster, in one of its processes. Any process starts, wakes and retires apps by rows; one leads, and makes the
 * scheduler follow them. Edges are told by the process that they are connected to.
 */
import type { Changes, Clock, Log } from '../base/index.ts'
import type { Frame, Peer } from '../channel/index.ts'
import { type Answer, type Asked, type AwakeLimits, ask, type Instances, type ScalePace } from '../runtime/index.ts'
import type { LeaderWork, LineLogs, Sql, Vault } from '../storage/index.ts'
import { createAppLines } from './app-lines.ts'
import { createClusterEdges } from './edges.ts'
import { createRowInstances, type OwnedApp } from './instances.ts'
import { createLead, type LeadOptions } from './leader/lead.ts'
import { recordLoads } from './loads.ts'
import { createAppRecords } from './records.ts'
import { createAwakeSlots } from './slots.ts'
import { createStarts } from './starts.ts'
import { createView } from './view.ts'
import { recordVisits } from './visits.ts'
import { createWakes } from './wakes.ts'

export type ClusterAppsParts = {
  sql: Sql
  clock: Clock
  log: Log
  /** Tells of changes by other processes. */
  changes: Pick<Changes, 'follow'>
  vault: Vault
  /** Logs of apps, to which several processes write. */
  logs: Pick<LineLogs, 'create' | 'follow' | 'pieces' | 'lastNumber'>
  /** The image of a build's output, with its digest. */
  imageOf(build: string): Promise<string>
  regionOf(environmentId: string): Promise<string>
  nodes: {
    /** Whether visitors may be sent to the node: its firewall is in place. */
    isConfirmed(node: string): boolean
    /** Returns the function that removes the listener. */
    onChange(listener: () => void): () => void
  }
  /** Apps of the environment learn that something was revalidated, before the next request that edges send them. */
  tellRevalidated(environment: string): Promise<void>
  /** For an answer, from when the program runs. */
  startDeadlineMs: number
  /** For a node that gets the image and runs the program. */
  placeDeadlineMs?: number
  idleMs: number
  /** Of each account. */
  awakeLimits: AwakeLimits
  /** How soon the number of instances follows the load; as on one machine where it is not given. */
  scalePace?: ScalePace
  /** Which of these deployments are live; where it is given, the leader ends others that were left behind. */
  liveOf?(deployments: readonly string[]): Promise<ReadonlySet<string>>
  /** The state of an app has changed that another process has started. Of others, their own `onState` is called. */
  onState?(app: OwnedApp): void
  /** Visitors were seen at these deployments. */
  onVisited?(deployments: readonly string[]): void
  /** How the leader asks an instance; by HTTP where it is not given. */
  ask?(asked: Asked, signal: AbortSignal): Promise<Answer>
}

export type ClusterApps = {
  instances: Instances
  /** For connections of edges with the topic `instances`. */
  serveEdge(peer: Peer<Frame, Frame>): void
  /** What instances of a node use, in bytes, as it has measured it. Never rejects. */
  setMemory(node: string, used: Readonly<Record<string, number>>): Promise<void>
  /** The work of the process that leads. */
  lead(options: LeadOptions): LeaderWork
  /** Resolves when the rows are known. */
  start(): Promise<void>
  stop(): Promise<void>
}

const PLACE_DEADLINE_MS = 300_000
const VISITS_MS = 10_000

export function createClusterApps(parts: ClusterAppsParts): ClusterApps {
  const { sql, clock, log, changes, vault, logs, nodes, startDeadlineMs, idleMs } = parts
  const stopping = new AbortController()
  const records = createAppRecords(sql)
  const view = createView({ clock, log, records, changes })
  const lines = createAppLines({ log, logs, vault, records })
  const slots = createAwakeSlots({ clock, records, lines, limits: parts.awakeLimits, waitMs: startDeadlineMs })
  const wakes = createWakes({ clock, log, records, view, slots, lines, stopping: stopping.signal })
  const shared = { clock, log, vault, records, view, wakes, lines, startDeadlineMs }
  const { isConfirmed } = nodes
  const starts = createStarts({
    ...shared,
    slots,
    isConfirmed,
    imageOf: parts.imageOf,
    regionOf: parts.regionOf,
    placeDeadlineMs: parts.placeDeadlineMs ?? PLACE_DEADLINE_MS,
  })
  const { onVisited, onState, liveOf } = parts
  const { signal } = stopping
  const instances = createRowInstances({
    ...shared,
    starts,
    isConfirmed,
    tellRevalidated: parts.tellRevalidated,
    stopping: signal,
    onState,
    logs,
  })
  const visits = recordVisits({ clock, log, records, everyMs: Math.min(VISITS_MS, idleMs / 4) })
  const edges = createClusterEdges({ clock, log, view, records, wakes, visits, lines, isConfirmed, onVisited })
  const loads = recordLoads({ clock, log, records, view, inFlight: edges.inFlight })
  const ends = [view.onChange(instances.onChange), nodes.onChange(view.lookAgain)]

  return {
    instances,
    serveEdge: edges.serve,
    setMemory: (node, used) =>
      records
        .setMemory(node, used)
        .catch((error) => log.warn({ err: error, node }, 'the memory that apps use could not be recorded')),
    lead: createLead({
      ...shared,
      slots,
      sql,
      logs,
      ask: parts.ask ?? ask,
      idleMs,
      liveOf,
      scalePace: parts.scalePace,
    }),
    start: view.start,
    async stop() {
      stopping.abort(new Error('the process stops'))
      for (const end of ends) end()
      await Promise.all([edges.stop(), visits.stop(), loads.stop(), wakes.settled()])
      await view.stop()
    },
  }
}
