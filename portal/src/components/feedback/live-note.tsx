/** Says that something is live, in a line with the address. */
import type { ReactNode } from 'react'
import { Icon } from '../layout/icon.tsx'
import css from './live-note.module.css'

export function LiveNote({ children }: { children: ReactNode }) {
  return (
    <p className={css.live} role="status">
      <Icon name="check" />
      <span className={css.words}>{children}</span>
    </p>
  )
}
