/** Puts apps to sleep that have no visitors, and stops those that exceed the limits of their account or of the machine. */
import { type Clock, type Log, repeat } from '../base/index.ts'
import { deploymentOf, type Supervisor } from '../runtime/index.ts'

type Parts = {
  clock: Clock
  log: Log
  supervisor: Pick<Supervisor, 'all' | 'unvisitedMs' | 'excess' | 'sleep' | 'release'>
  isKeptAwake(deployment: string): boolean
  idleMs: number
  /** What the machine can still give to programs. */
  availableBytes?(): number
}

const LOOK_MS = 5000

export function watchIdle({ availableBytes = process.availableMemory, ...parts }: Parts) {
  const { clock, log, supervisor, isKeptAwake, idleMs } = parts
  return repeat(clock, Math.min(LOOK_MS, idleMs / 2), async () => {
    const note = (key: string) => (error: unknown) =>
      log.error({ err: error, deployment: deploymentOf(key) }, 'an app could not be put to sleep')
    // Instances beside the first come and go with the load.
    const apps = supervisor.all().filter((key) => deploymentOf(key) === key && !isKeptAwake(key))
    const excess = supervisor.excess(availableBytes())
    for (const key of excess) supervisor.release(key).catch(note(key))
    const idle = apps.filter((deployment) => supervisor.unvisitedMs(deployment) >= idleMs)
    for (const key of idle) supervisor.sleep(key).catch(note(key))
  })
}
