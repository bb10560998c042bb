/** A part of a page with a heading of its own; and facts about one thing, each with its name. */
import type { ReactNode } from 'react'
import { useId } from 'react'
import css from './panel.module.css'

type Props = {
  title?: string
  /** At the right of the heading. */
  actions?: ReactNode
  children: ReactNode
  /** Tables and lists go to the edge. */
  flush?: boolean
}

export function Panel({ title, actions, children, flush = false }: Props) {
  const id = useId()
  return (
    <section className={css.panel} aria-labelledby={title ? id : undefined}>
      {title && (
        <div className={css.head}>
          <h2 id={id} className={css.title}>
            {title}
          </h2>
          {actions && <div className={css.actions}>{actions}</div>}
        </div>
      )}
      <div className={flush ? css.flush : css.body}>{children}</div>
    </section>
  )
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className={css.facts}>{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
