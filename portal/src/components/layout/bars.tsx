/** A list of figures, each with a bar that shows its share of the whole. */
import type { CSSProperties, ReactNode } from 'react'
import css from './bars.module.css'
import { Icon } from './icon.tsx'

export type Bar = {
  key: string
  word: string
  about: string
  /** Of the whole, from 0 to 1. */
  share: number
  figure: ReactNode
  /** A warning, where it is not `well`. */
  state?: 'well' | 'near' | 'full'
}

export function Bars({ bars, label }: { bars: readonly Bar[]; label: string }) {
  return (
    <ul className={css.bars} aria-label={label}>
      {bars.map(({ key, word, about, share, figure, state = 'well' }) => (
        <li key={key} className={css.row}>
          <span className={css.what}>
            <span>{word}</span> <span className={css.about}>{about}</span>
          </span>
          <span className={css.bar} aria-hidden="true">
            <span className={`${css.filled} ${css[state]}`} style={{ width: `${100 * share}%` }} />
          </span>
          <span className={`${css.figure} ${css[state]}`}>
            {state !== 'well' && <Icon name="warning" />}
            {figure}
            {state === 'full' && <span className={css.fullWord}>, full</span>}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** As high as the list that it stands for. */
export const BarsComing = ({ rows }: { rows: number }) => (
  <div className={css.coming} style={{ '--rows': rows } as CSSProperties} role="status" aria-label="Loading" />
)

export const Quiet = ({ children }: { children: ReactNode }) => <span className={css.about}>{children}</span>
