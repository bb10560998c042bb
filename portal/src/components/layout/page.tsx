/** A page's heading. It sets the title of the tab, and takes the focus so that screen readers begin there. */
import { createContext, type ReactNode, useContext, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { Icon } from './icon.tsx'
import css from './page.module.css'

/** What the page is about, for the title of the tab: an environment, an app. */
export const AboutContext = createContext('')

export type Crumb = { text: string; href: string }

type Props = {
  title: string
  /** The breadcrumbs; pages of an environment get theirs from the frame. */
  crumbs?: readonly Crumb[]
  /** A state beside the title. */
  beside?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

/** True once a page was opened by a link: on the first page the browser decides about the focus. */
let hasNavigated = false

export function Page({ title, crumbs, beside, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  const about = useContext(AboutContext)

  useEffect(() => {
    document.title = [title, ...(about && about !== title ? [about] : []), 'Headland'].join(' · ')
  }, [title, about])

  useEffect(() => {
    if (hasNavigated) {
      heading.current?.focus({ preventScroll: true })
      window.scrollTo(0, 0)
    }
    hasNavigated = true
  }, [])

  return (
    <div className={css.page}>
      <div className={css.top}>
        {crumbs && <Crumbs crumbs={crumbs} />}
        <div className={css.head}>
          <div className={css.titles}>
            <h1 ref={heading} tabIndex={-1} className={css.title}>
              {title}
            </h1>
            {beside}
          </div>
          {actions && <div className={css.actions}>{actions}</div>}
        </div>
      </div>
      {children}
    </div>
  )
}

export function Crumbs({ crumbs }: { crumbs: readonly Crumb[] }) {
  return (
    <nav aria-label="You are in">
      <ol className={css.crumbs}>
        {crumbs.map(({ text, href }, index) => (
          <li key={href} className={css.crumb}>
            {index > 0 && <Icon name="right" size={14} />}
            <Link href={href}>{text}</Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}
