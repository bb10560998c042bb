/** Which operations are builds under way, in the order in which people look for them. */
import { isOfBuild } from '../../../api/live/state.ts'
import type { Operation } from '../../../api/types.ts'

const waits = ({ metadata }: Operation): boolean => metadata.phase === 'QUEUED'

/** What runs first, and of each kind the oldest first, as queues go. */
export const inOrder = (operations: readonly Operation[]): Operation[] =>
  operations
    .filter((operation) => !operation.done && isOfBuild(operation))
    .toSorted(
      (a, b) => Number(waits(a)) - Number(waits(b)) || a.metadata.createTime.localeCompare(b.metadata.createTime) || 0,
    )

/** `2 running, 1 waiting`. */
export function summaryOf(builds: readonly Operation[]): string {
  const waiting = builds.filter(waits).length
  const running = builds.length - waiting
  return [running > 0 && `${running} running`, waiting > 0 && `${waiting} waiting`].filter(Boolean).join(', ')
}
