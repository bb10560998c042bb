/** How much each kind of thing takes, as a list with a bar for each. */
import type { UsageKind } from '../../api/types.ts'
import { bytes } from '../../parts/format.ts'
import css from './disk-kinds.module.css'
import { KIND_WORDS } from './kinds.ts'
import { shareOf } from './share.ts'

type Kind = { kind: UsageKind; bytes: number; sharedBytes?: number }

export function DiskKinds({ kinds, label }: { kinds: readonly Kind[]; label: string }) {
  const most = Math.max(...kinds.map((each) => each.bytes))
  return (
    <ul className={css.kinds} aria-label={label}>
      {kinds.map(({ kind, bytes: held, sharedBytes = 0 }) => (
        <li key={kind} className={css.kind}>
          <span className={css.what}>
            <span>{KIND_WORDS[kind].word}</span> <span className={css.about}>{KIND_WORDS[kind].about}</span>
          </span>
          <span className={css.bar} aria-hidden="true">
            <span className={css.filled} style={{ width: `${100 * shareOf(held, most)}%` }} />
          </span>
          <span className={css.size}>
            {bytes(held)}
            {sharedBytes > 0 && <span className={css.about}> {bytes(sharedBytes)} of it shared</span>}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** As high as the list that will stand here. */
export const DiskKindsComing = () => <div className={css.coming} role="status" aria-label="Loading" />
