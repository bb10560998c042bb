/** An empty page: says what to do next, and the API call that does the same. */
import type { ComponentProps, ReactNode } from 'react'
import { Curl } from '../controls/curl.tsx'
import css from './empty.module.css'

type Props = { title: string; children?: ReactNode; action?: ReactNode; curl?: ComponentProps<typeof Curl> }

export function Empty({ title, children, action, curl }: Props) {
  return (
    <div className={css.empty}>
      <h2 className={css.title}>{title}</h2>
      {children && <div className={css.text}>{children}</div>}
      {action && <div className={css.action}>{action}</div>}
      {curl && <Curl {...curl} />}
    </div>
  )
}
