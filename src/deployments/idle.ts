/** Puts apps without visitors to sleep, and wakes them for the next one. */
import type { Clock, Log } from '../base/index.ts'
import type { Edge } from '../edge/index.ts'
import type { Supervisor } from '../runtime/index.ts'
import type { Routing } from './routing.ts'
import { DRAIN_MS } from './switch.ts'

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
  const lastVisit = new Map<string, number>()
  const stopping = new AbortController()

  const forgetWake = edge.onWake((deployment) => {
    lastVisit.set(deployment, clock.now())
    supervisor.wake(deployment)
  })
  const forgetActivity = edge.onActivity((deployments) => {
    for (const deployment of Object.keys(deployments)) lastVisit.set(deployment, clock.now())
  })

  async function look() {
    while (!stopping.signal.aborted) {
      await clock.sleep(Math.min(LOOK_MS, idleMs / 2), stopping.signal)
      const running = new Set(supervisor.all())
      for (const deployment of lastVisit.keys()) if (!running.has(deployment)) lastVisit.delete(deployment)
      for (const deployment of running) {
        // One that nobody has visited yet counts from when it was first seen.
        if (!lastVisit.has(deployment)) lastVisit.set(deployment, clock.now())
        const isIdle = clock.now() - (lastVisit.get(deployment) ?? 0) >= idleMs
        if (!isIdle || supervisor.of(deployment)?.state !== 'RUNNING') continue
        supervisor
          .sleep(deployment, async (instance) => {
            // New visitors must wait for it to wake before those it still has are let out.
            await routing.publish()
            await edge.drain(instance, DRAIN_MS)
          })
          .catch((error) => log.error({ err: error, deployment }, 'an app could not be put to sleep'))
      }
    }
  }
  const looking = look()

  return {
    async stop() {
      stopping.abort()
      forgetWake()
      forgetActivity()
      await looking
    },
  }
}
