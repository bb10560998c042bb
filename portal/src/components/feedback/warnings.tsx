/** Warnings of a build: what works today but should be changed. */
import type { Build } from '../../api/types.ts'
import { Icon } from '../layout/icon.tsx'
import css from './warnings.module.css'

export function Warnings({ build }: { build: Pick<Build, 'warnings'> }) {
  if (build.warnings.length === 0) return null
  return (
    <section className={css.note} aria-label="Warnings">
      <Icon name="warning" />
      <div className={css.body}>
        {build.warnings.map((warning) => (
          <p key={warning}>{warning}</p>
        ))}
      </div>
    </section>
  )
}
