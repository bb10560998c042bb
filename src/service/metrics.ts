/** What the operator can measure: the figures of `/metrics`, and when an event loop was blocked. */
import { createMetrics } from '../api/index.ts'
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import type { Edges } from '../edge/index.ts'
import type { Worker } from '../operations/index.ts'
import { PUBLISH_HINTS } from '../publishes/index.ts'
import type { Config } from '../settings.ts'
import type { Leadership } from '../storage/index.ts'
import { version } from '../version.ts'
import type { Stall } from '../watchdog/index.ts'
import type { Retention } from './retention.ts'

type Parts = { database: Database; edges: Edges; worker: Worker; retention: Retention; leadership: Leadership }

export function assembleMetrics({ database, edges, worker, retention, leadership }: Parts) {
  const metrics = createMetrics({
    version,
    operationsUnfinished: async () => (await database.operations.count()).unfinished,
    operationsRunning: () => worker.runningCount(),
    edgeServing: () => edges.isServing(),
    diskUsage: retention.usage.total,
    diskFree: retention.freeBytes,
    isLeading: () => leadership.term() !== undefined,
    leaderTerm: () => leadership.leader()?.term ?? 0,
  })
  // The process that recorded a publish may have no metrics, as a worker: the leader counts those of all, each once.
  database.changes.follow(PUBLISH_HINTS, (name) => {
    const [, until, kind, ms] = /^(visible|visited) (BUILD|PURGE) (\d+)$/.exec(name ?? '') ?? []
    if (until === undefined || leadership.term() === undefined) return
    metrics.observePublish(kind === 'BUILD' ? 'build' : 'purge', until as 'visible' | 'visited', Number(ms))
  })
  return metrics
}

export type Metrics = ReturnType<typeof createMetrics>

type StallParts = { config: Config; log: Log; metrics: Metrics }

export const createOnStall =
  ({ config, log, metrics }: StallParts) =>
  (where: 'control' | 'edge') =>
  (stall: Stall) => {
    metrics.observeStall(where, stall.ms)
    if (stall.ms >= config.stallWarning) log.warn({ process: where, ...stall }, 'the event loop stood still')
  }
