/** What the control plane and an edge process say to each other. */
import type { RouteTable } from './routes.ts'

export type ToEdge =
  | { kind: 'start'; host: string; port: number; tableFile: string; trustedProxies: readonly string[] }
  | { kind: 'table'; id: number; table: RouteTable }
  /** Say `drained` when no request of this instance is in flight; after the time, destroy those that are. */
  | { kind: 'drain'; id: number; instance: string; graceMs: number }
  | { kind: 'stop' }

export type FromEdge =
  | { kind: 'listening'; port: number }
  | { kind: 'using'; id: number }
  | { kind: 'drained'; id: number }
  /** A request is held for this deployment. */
  | { kind: 'wake'; deployment: string }
  /** Requests since the last report, by deployment; one that is still going on counts in each report. */
  | { kind: 'activity'; deployments: Record<string, number> }
  /** Something that whoever runs the service should know; the edge goes on. */
  | { kind: 'trouble'; message: string }
  | { kind: 'failed'; message: string }
