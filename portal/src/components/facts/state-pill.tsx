/** A pill of what `api/state.ts` made of a resource; more about it is its title. */
import type { Shown } from '../../api/live/state.ts'
import { Pill } from './pill.tsx'
import css from './state-pill.module.css'

export function StatePill({ shown: { tone, word, detail } }: { shown: Shown }) {
  return (
    <span title={detail} className={css.holder}>
      <Pill tone={tone}>{word}</Pill>
    </span>
  )
}
