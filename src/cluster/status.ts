/** What the rows of an app mean to the service and to edges, as pure functions. */
import type { InstanceReport } from '../edge/index.ts'
import type { InstanceStatus } from '../runtime/index.ts'
import type { AppRow, InstanceRow } from './rows.ts'

/** Crashes in a row, as on one machine. */
export const CRASHES_TO_LOOP = 5

export type Seen = { app: AppRow | undefined; instances: readonly InstanceRow[] }

/** Whether the firewall of a node is known to be in place. */
export type IsConfirmed = (node: string) => boolean

type Address = { id: string; host: string; port: number }

/** Those that visitors may be sent to. */
export function usable({ instances }: Pick<Seen, 'instances'>, isConfirmed: IsConfirmed): Address[] {
  return instances.flatMap(({ instance: id, state, isReady, node, address: host, port }) =>
    state === 'RUNNING' && isReady && node !== null && host !== null && port !== null && isConfirmed(node)
      ? { id, host, port }
      : [],
  )
}

/** Undefined for one that is not wanted any more. */
export function statusOf(seen: Seen, isConfirmed: IsConfirmed): InstanceStatus | undefined {
  const { app } = seen
  if (!app || app.isRetired) return undefined
  const { restarts, crashes, replicas } = app
  const running = replicas > 0 ? usable(seen, isConfirmed) : []
  const [instance] = running
  const asleep = { state: 'ASLEEP', restarts, running: 0, instance: undefined } as const
  if (replicas === 0) return asleep
  if (instance) return { state: 'RUNNING', restarts, running: running.length, instance }
  const state = crashes >= CRASHES_TO_LOOP ? 'CRASH_LOOP' : crashes > 0 ? 'RESTARTING' : 'STARTING'
  return { ...asleep, state }
}

/** Null: it has ended. */
export function reportOf(seen: Seen, isConfirmed: IsConfirmed): InstanceReport | null {
  const status = statusOf(seen, isConfirmed)
  if (!status) return null
  if (status.state === 'CRASH_LOOP') return { state: 'down' }
  if (status.state !== 'RUNNING') return { state: 'asleep' }
  const told = seen.app?.service.isToldPurges ? { isToldPurges: true } : {}
  const instances = usable(seen, isConfirmed).map(({ id, host, port }) => ({ instance: id, host, port, ...told }))
  return { state: 'running', instances }
}
