/** Puts apps to sleep that have no visitors or exceed the limits of their account, and wakes them for the next visitor. */
import { type Clock, type Log, repeat } from '../base/index.ts'
import type { Edge } from '../edge/index.ts'
import type { Supervisor } from '../runtime/index.ts'
import { DRAIN_MS } from './deploy/switch.ts'
import type { Routing } from './routing.ts'

type Parts = {
  clock: Clock
  log: Log
  edge: Edge
  supervisor: Supervisor
  routing: Pick<Routing, 'publish'>
  idleMs: number
}

const LOOK_MS = 5000

export function watchIdle({ clock, log, edge, supervisor, routing, idleMs }: Parts) {
  supervisor.drainBy(async (instance) => {
    // The routes change first, so that new visitors wait for a wake-up while the current ones are served.
    await routing.publish()
    await edge.drain(instance, DRAIN_MS)
  })
  const forgetWake = edge.onWake((deployment) => supervisor.wake(deployment))
  const forgetActivity = edge.onActivity((deployments) => {
    for (const deployment of Object.keys(deployments)) supervisor.visited(deployment)
  })

  const looks = repeat(clock, Math.min(LOOK_MS, idleMs / 2), async () => {
    const idle = supervisor.all().filter((deployment) => supervisor.unvisitedMs(deployment) >= idleMs)
    for (const deployment of new Set([...idle, ...supervisor.excess()])) {
      supervisor
        .sleep(deployment)
        .catch((error) => log.error({ err: error, deployment }, 'an app could not be put to sleep'))
    }
  })

  return {
    async stop() {
      forgetWake()
      forgetActivity()
      await looks.stop()
    },
  }
}
