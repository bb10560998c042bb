/** The disk usage of each kind of files, as a list with bars. */
import type { UsageKind } from '../../../api/types.ts'
import { bytes } from '../../../components/facts/format.ts'
import { Bars, BarsComing, Quiet } from '../../../components/layout/bars.tsx'
import { KIND_WORDS } from '../kinds.ts'
import { shareOf } from './share.ts'

type Kind = { kind: UsageKind; bytes: number; sharedBytes?: number }

export function DiskKinds({ kinds, label }: { kinds: readonly Kind[]; label: string }) {
  const max = Math.max(...kinds.map((each) => each.bytes))
  const bars = kinds.map(({ kind, bytes: held, sharedBytes = 0 }) => ({
    key: kind,
    ...KIND_WORDS[kind],
    share: shareOf(held, max),
    figure: (
      <>
        {bytes(held)}
        {sharedBytes > 0 && <Quiet>{bytes(sharedBytes)} of it shared</Quiet>}
      </>
    ),
  }))
  return <Bars bars={bars} label={label} />
}

export const DiskKindsComing = () => <BarsComing rows={6} />
