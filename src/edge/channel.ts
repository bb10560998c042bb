/** The messages between the control plane and an edge process. */
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
  /**
   * Answered by `drained` when no request of this instance is in flight; after the time, the remaining ones are
   * aborted.
   */
  | { kind: 'drain'; id: number; instance: string; graceMs: number }
  /** Answered by `purged` when no later request is answered with what is purged. */
  | { kind: 'purge'; id: number; purge: Purge }
  /** Answered by `inspected` with what is stored for this URL. */
  | { kind: 'inspect'; id: number; environment: string; url: string }
  | { kind: 'stop' }

export type FromEdge =
  | { kind: 'listening'; port: number }
  | { kind: 'using'; id: number }
  | { kind: 'drained'; id: number }
  | { kind: 'purged'; id: number }
  | { kind: 'inspected'; id: number; inspection: Inspection }
  /** A request waits for this deployment. */
  | { kind: 'wake'; deployment: string }
  /** Requests since the last report, by deployment; one that is still going on counts in each report. */
  | { kind: 'activity'; deployments: Record<string, number> }
  /** The traffic since the last report, by environment. */
  | { kind: 'traffic'; environments: Record<string, Counts> }
  /** The event loop of the edge was blocked. */
  | { kind: 'stalled'; stall: Stall }
  /** A fault that the operator should know about; the edge goes on. */
  | { kind: 'trouble'; message: string }
  | { kind: 'failed'; message: string }
