/** What the control plane and an edge process say to each other. */
import type { Stall } from '../watchdog/index.ts'
import type { CacheSettings, Inspection, Purge } from './cache/index.ts'
import type { Counts } from './counts.ts'
import type { RouteTable } from './routes.ts'

export type ToEdge =
  | {
      kind: 'start'
      host: string
      port: number
      tableFile: string
      trustedProxies: readonly string[]
      countsPaths: boolean
      cache: CacheSettings
    }
  | { kind: 'table'; id: number; table: RouteTable }
  /** Say `drained` when no request of this instance is in flight; after the time, destroy those that are. */
  | { kind: 'drain'; id: number; instance: string; graceMs: number }
  /** Say `purged` when no request that comes from then on is answered with what is to go. */
  | { kind: 'purge'; id: number; purge: Purge }
  /** Say `inspected` with what is stored for this address. */
  | { kind: 'inspect'; id: number; environment: string; url: string }
  | { kind: 'stop' }

export type FromEdge =
  | { kind: 'listening'; port: number }
  | { kind: 'using'; id: number }
  | { kind: 'drained'; id: number }
  | { kind: 'purged'; id: number }
  | { kind: 'inspected'; id: number; inspection: Inspection }
  /** A request is held for this deployment. */
  | { kind: 'wake'; deployment: string }
  /** Requests since the last report, by deployment; one that is still going on counts in each report. */
  | { kind: 'activity'; deployments: Record<string, number> }
  /** What visitors got since the last report, by environment. */
  | { kind: 'traffic'; environments: Record<string, Counts> }
  /** The event loop of the edge stood still. */
  | { kind: 'stalled'; stall: Stall }
  /** Something that whoever runs the service should know; the edge goes on. */
  | { kind: 'trouble'; message: string }
  | { kind: 'failed'; message: string }
