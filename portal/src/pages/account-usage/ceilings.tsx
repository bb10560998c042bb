/** The other limits of an account: the current number beside the maximum. */
import type { AccountUsage } from '../../api/types.ts'
import { Bars, BarsComing } from '../../components/layout/bars.tsx'
import { countedIn, shownOf } from './ceilings.ts'

export function Ceilings({ usage }: { usage: AccountUsage }) {
  const bars = countedIn(usage).map((counted) => ({ key: counted.kind, ...shownOf(counted) }))
  return <Bars bars={bars} label="What the account has, and may have" />
}

export const CeilingsComing = () => <BarsComing rows={8} />
