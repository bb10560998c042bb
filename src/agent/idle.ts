/** Puts apps to sleep that have no visitors or exceed the limits of their account. */
import { type Clock, type Log, repeat } from '../base/index.ts'
import { deploymentOf, type Supervisor } from '../runtime/index.ts'

type Parts = {
  clock: Clock
  log: Log
  supervisor: Pick<Supervisor, 'all' | 'unvisitedMs' | 'excess' | 'sleep'>
  isKeptAwake(deployment: string): boolean
  idleMs: number
}

const LOOK_MS = 5000

export function watchIdle({ clock, log, supervisor, isKeptAwake, idleMs }: Parts) {
  return repeat(clock, Math.min(LOOK_MS, idleMs / 2), async () => {
    // Instances beside the first come and go with the load.
    const apps = supervisor.all().filter((key) => deploymentOf(key) === key && !isKeptAwake(key))
    const idle = apps.filter((deployment) => supervisor.unvisitedMs(deployment) >= idleMs)
    for (const key of new Set([...idle, ...supervisor.excess()])) {
      supervisor
        .sleep(key)
        .catch((error) => log.error({ err: error, deployment: deploymentOf(key) }, 'an app could not be put to sleep'))
    }
  })
}
