/** When apps were last visited, as edges report it. Written for all of them together, at most once in a while. */
import { type Clock, type Log, repeat } from '../base/index.ts'
import type { AppRecords } from './records.ts'

type Parts = { clock: Clock; log: Log; records: Pick<AppRecords, 'setVisited'>; everyMs: number }

export function recordVisits({ clock, log, records, everyMs }: Parts) {
  const visited = new Set<string>()
  const writing = repeat(clock, everyMs, write)

  async function write() {
    const deployments = [...visited]
    visited.clear()
    if (deployments.length === 0) return
    await records
      .setVisited(deployments, clock.now())
      .catch((error) => log.error({ err: error }, 'the last visits of apps could not be recorded'))
  }

  return {
    add(deployments: readonly string[]) {
      for (const deployment of deployments) visited.add(deployment)
    },
    async stop() {
      await writing.stop()
      await write()
    },
  }
}

export type Visits = ReturnType<typeof recordVisits>
