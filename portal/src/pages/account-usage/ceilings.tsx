/** What else is limited for an account: how many there are, beside how many there may be. */
import type { AccountUsage } from '../../api/types.ts'
import { Icon } from '../../parts/icon.tsx'
import css from './ceilings.module.css'
import { countedIn, shownOf } from './ceilings.ts'

export function Ceilings({ usage }: { usage: AccountUsage }) {
  return (
    <ul className={css.ceilings} aria-label="What the account has, and may have">
      {countedIn(usage).map((counted) => {
        const { word, about, figure, share, state } = shownOf(counted)
        return (
          <li key={counted.kind} className={css.ceiling}>
            <span className={css.what}>
              <span>{word}</span> <span className={css.about}>{about}</span>
            </span>
            <span className={css.bar} aria-hidden="true">
              <span className={`${css.filled} ${css[state]}`} style={{ width: `${100 * share}%` }} />
            </span>
            <span className={`${css.figure} ${css[state]}`}>
              {state !== 'well' && <Icon name="warning" />}
              {figure}
              {state === 'full' && <span className={css.said}>, full</span>}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** As high as the list that will stand here. */
export const CeilingsComing = () => <div className={css.coming} role="status" aria-label="Loading" />
