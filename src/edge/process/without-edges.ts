/**
 * What a process needs that changes what visitors get, and that no edge follows: its purges are sent by the control processes,
 * and it waits for the rows in which they record what their edges have confirmed.
 */
import { type Clock, type Log, processName } from '../../base/index.ts'
import type { Edges } from './edges.ts'
import { createPurging } from './purging.ts'
import type { EdgeRecords } from './records.ts'
import { createRouted } from './routed.ts'

type Parts = { clock: Clock; log: Log; records: EdgeRecords; leaseMs: number }

export type EdgesElsewhere = Pick<
  Edges,
  'leaseMs' | 'purge' | 'serving' | 'onConnected' | 'setRoutes' | 'routed' | 'untilOthersRouted'
> & { close(): Promise<void> }

export async function followEdgesElsewhere({ clock, log, records, leaseMs }: Parts): Promise<EdgesElsewhere> {
  const control = processName()
  const now = () => performance.now()
  const purging = await createPurging({ clock, log, records, control, leaseMs, now, members: new Map() })
  const { untilOthersRouted } = createRouted({ clock, records, control })
  return {
    leaseMs,
    purge: purging.purge,
    serving: () => [],
    onConnected: () => () => undefined,
    setRoutes: async () => undefined,
    // It is not on record as a control process, so none waits for it.
    routed: async () => undefined,
    untilOthersRouted,
    close: () => purging.stop(),
  }
}
