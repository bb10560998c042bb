/** The frame of every page: the bar at the top, the skip link for the keyboard, and the stream of changes. */
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useEvents, useLiveness } from '../api/live/events.ts'
import { ExternalLink } from '../components/controls/button.tsx'
import { Icon } from '../components/layout/icon.tsx'
import { Mark } from '../components/layout/mark.tsx'
import { helpFor } from '../help.ts'
import { appsPath } from '../paths.ts'
import { Invitations } from '../session/invitations.tsx'
import { useSession } from '../session/session.tsx'
import css from './account-frame.module.css'
import { accountLinks } from './account-links.ts'
import { AccountSwitch } from './account-switch.tsx'
import { currentOf } from './here.ts'
import { Shortcuts } from './shortcuts.tsx'
import { UserMenu } from './user-menu.tsx'

export function AccountFrame({ children }: { children: ReactNode }) {
  const session = useSession()
  const { account, invitations } = session
  const [location] = useLocation()
  useEvents(account)

  return (
    <>
      <a className={css.skip} href="#content">
        Skip to the content
      </a>
      <header className={css.bar}>
        <div className={css.inside}>
          <Link href={appsPath(account)} className={css.brand}>
            <Mark />
            <span className={css.name}>Headland</span>
          </Link>
          <AccountSwitch />
          <nav className={css.nav} aria-label="Account">
            {accountLinks(session).map(({ text, href, below }) => (
              <Link key={href} href={href} className={css.link} aria-current={currentOf(location, href, below)}>
                {text}
              </Link>
            ))}
          </nav>
          <div className={css.right}>
            <LivenessNote />
            <ExternalLink href={helpFor(location)}>Help</ExternalLink>
            <UserMenu />
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1} className={css.content}>
        <Invitations invitations={invitations} />
        {children}
      </main>
      <Shortcuts />
    </>
  )
}

/** Shown only while the stream of changes is closed: the page may then be a few seconds old. */
function LivenessNote() {
  const liveness = useLiveness()
  if (liveness !== 'polling') return null
  return (
    <span className={css.polling} title="The stream of changes is closed; the page is refreshed every few seconds.">
      <Icon name="clock" size={14} />
      <span className={css.pollingText}>Refreshing</span>
    </span>
  )
}
