/**
 * Requests in flight at the edges of this process, for the leader: one row with all of them, written once a second while there are
 * some. Only apps whose number of instances depends on it are in it.
 */
import { type Clock, type Log, randomToken, repeat } from '../base/index.ts'
import type { AppRecords } from './records.ts'
import type { View } from './view.ts'

type Parts = {
  clock: Clock
  log: Log
  records: Pick<AppRecords, 'setLoads' | 'removeLoads'>
  view: Pick<View, 'of'>
  /** What all edges have reported, by deployment. */
  inFlight(): ReadonlyMap<string, number>
}

const WRITE_MS = 1000

export function recordLoads({ clock, log, records, view, inFlight }: Parts) {
  /** Another one at each start: what the process before has left is not its own. */
  const process = randomToken()
  let isOnRecord = false

  async function write() {
    const counted = [...inFlight()].filter(([deployment, requests]) => {
      const { app } = view.of(deployment)
      return requests > 0 && app !== undefined && app.replicas > 0 && app.scaling.maxInstances > 1
    })
    if (counted.length > 0) {
      isOnRecord = true
      await records.setLoads(process, Object.fromEntries(counted))
    } else if (isOnRecord) {
      await records.removeLoads([process])
      isOnRecord = false
    }
  }
  const tryWriting = () =>
    write().catch((error) => log.warn({ err: error }, 'requests in flight to apps could not be recorded'))
  const writing = repeat(clock, WRITE_MS, tryWriting)

  return {
    async stop() {
      await writing.stop()
      if (isOnRecord) await records.removeLoads([process]).catch(() => undefined)
    },
  }
}
