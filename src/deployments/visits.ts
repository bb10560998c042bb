/** Records when each app was last visited. That is the order in which apps come back after a start of the machine. */
import { type Clock, type Log, repeat } from '../base/index.ts'
import type { WantedInstances } from './records/wanted.ts'

type Parts = { clock: Clock; log: Log; wantedInstances: Pick<WantedInstances, 'visited'> }

const RECORD_MS = 60_000

export function recordVisits({ clock, log, wantedInstances }: Parts) {
  const visited = new Set<string>()
  const records = repeat(clock, RECORD_MS, record)

  async function record() {
    const deployments = [...visited]
    visited.clear()
    if (deployments.length === 0) return
    await wantedInstances
      .visited(deployments)
      .catch((error) => log.error({ err: error }, 'the last visits of apps could not be recorded'))
  }

  return {
    add(deployments: readonly string[]) {
      for (const deployment of deployments) visited.add(deployment)
    },
    async stop() {
      await records.stop()
      await record()
    },
  }
}
