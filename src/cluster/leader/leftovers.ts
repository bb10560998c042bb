/**
 * Ends apps that are not live any more and that no process has retired: one that died after a switch, or before the start that it
 * had begun was over. One that may be about to go live is left alone.
 */
import type { Clock } from '../../base/index.ts'
import type { Term } from '../../storage/index.ts'
import type { AppRecords } from '../records.ts'
import type { AppRow } from '../rows.ts'

type Parts = {
  clock: Clock
  records: Pick<AppRecords, 'all' | 'named' | 'change' | 'setRetired'>
  term: Pick<Term, 'check'>
  liveOf: ((deployments: readonly string[]) => Promise<ReadonlySet<string>>) | undefined
}

export function createLeftovers({ clock, records, term, liveOf }: Parts) {
  return async (): Promise<void> => {
    if (!liveOf) return
    const time = clock.now()
    const isLeft = ({ isRetired, holdTime }: AppRow) => !isRetired && holdTime < time
    const candidates = (await records.all()).filter(isLeft).map(({ deployment }) => deployment)
    if (candidates.length === 0) return
    const live = await liveOf(candidates)
    const others = candidates.filter((deployment) => !live.has(deployment))
    if (others.length === 0) return
    await records.change(async (change) => {
      // A start writes until when it holds an app: one that has begun since is seen here.
      for (const row of await records.named(others, change.tx))
        if (isLeft(row)) await records.setRetired(change, row.deployment, { isDrained: true, time })
    }, term)
  }
}
