/** The menu of the user who is logged in; on narrow screens it also has the links of the bar. A native popover. */
import { useRef } from 'react'
import { Link } from 'wouter'
import { problemOf } from '../api/problem.ts'
import { useToast } from '../components/feedback/toasts.tsx'
import { Icon } from '../components/layout/icon.tsx'
import { DOCS } from '../help.ts'
import { mePath } from '../paths.ts'
import { useLogOut, useSession } from '../session/session.tsx'
import { accountLinks } from './account-links.ts'
import { openShortcuts } from './shortcuts.tsx'
import css from './user-menu.module.css'

export function UserMenu() {
  const session = useSession()
  const { email, role, account } = session
  const menu = useRef<HTMLDivElement>(null)
  const logOut = useLogOut()
  const say = useToast()
  const close = () => menu.current?.hidePopover()

  return (
    <>
      <button type="button" className={css.button} popoverTarget="user-menu" aria-label={`Menu of ${email}`}>
        <span className={css.letter} aria-hidden="true">
          {email.slice(0, 1).toUpperCase()}
        </span>
        <Icon name="down" size={14} />
      </button>
      <div id="user-menu" popover="auto" ref={menu} className={css.menu}>
        <p className={css.who}>
          <span className={css.email}>{email}</span>
          <span className={css.role}>
            {role} in {account}
          </span>
        </p>
        <ul className={`${css.list} ${css.narrow}`}>
          {accountLinks(session).map(({ text, href }) => (
            <li key={href}>
              <Link href={href} className={css.item} onClick={close}>
                {text}
              </Link>
            </li>
          ))}
        </ul>
        <ul className={css.list}>
          <li>
            <Link href={mePath} className={css.item} onClick={close}>
              Your password and sessions
            </Link>
          </li>
          <li>
            <a href={DOCS} className={css.item}>
              Documentation
            </a>
          </li>
          <li>
            <a href="/docs" className={css.item}>
              API reference
            </a>
          </li>
          <li>
            <button
              type="button"
              className={css.item}
              onClick={() => {
                close()
                openShortcuts()
              }}
            >
              Keyboard shortcuts
            </button>
          </li>
          <li>
            <button
              type="button"
              className={css.item}
              onClick={() => logOut().catch((error) => say(problemOf(error).message, { tone: 'bad' }))}
            >
              Log out
            </button>
          </li>
        </ul>
      </div>
    </>
  )
}
