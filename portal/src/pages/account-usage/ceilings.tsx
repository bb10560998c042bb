/** The other limits of an account: the current number beside the maximum. */
import type { AccountUsage } from '../../api/types.ts'
import { Bars, BarsComing } from '../../components/layout/bars.tsx'
import { countedIn, shownOf } from './ceilings.ts'

export function Ceilings({ usage }: { usage: AccountUsage }) {
  const bars = countedIn(usage).map((counted) => ({ key: counted.kind, ...shownOf(counted) }))
  return <Bars bars={bars} label="Limits of the account, with the current numbers" />
}

export const CeilingsComing = () => <BarsComing rows={8} />
