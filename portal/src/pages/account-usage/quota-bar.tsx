/** How much of the disk quota of the account is used. */
import type { AccountUsage } from '../../api/types.ts'
import { Skeleton } from '../../components/feedback/skeleton.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { quotaOf } from './quota.ts'
import css from './quota-bar.module.css'

const WARNINGS = {
  near: 'Nearly full: uploads and rebuilds that need more than is left are refused.',
  over: 'Full: uploads and rebuilds are refused until there is free space.',
} as const

export function QuotaBar({ usage }: { usage: AccountUsage | undefined }) {
  if (!usage) {
    return (
      <div className={css.quota}>
        <p className={css.words}>
          <Skeleton width={24} />
        </p>
        <div className={css.bar} />
      </div>
    )
  }
  const { share, state, words } = quotaOf(usage)
  return (
    <div className={css.quota}>
      <p className={css.words}>{words}</p>
      {state !== 'none' && (
        <div className={css.bar} aria-hidden="true">
          <div className={`${css.filled} ${css[state]}`} style={{ width: `${100 * share}%` }} />
        </div>
      )}
      {(state === 'near' || state === 'over') && (
        <p className={`${css.warning} ${css[state]}`}>
          <Icon name="warning" />
          <span>{WARNINGS[state]}</span>
        </p>
      )}
    </div>
  )
}
