/** Buttons, and links that look like them: `primary` at most once on a page, `danger` for what cannot be undone. */
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { Link } from 'wouter'
import { Icon, type IconName } from '../layout/icon.tsx'
import css from './button.module.css'

export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger'

type Look = { kind?: ButtonKind; icon?: IconName | undefined; small?: boolean; children: ReactNode }

type ButtonProps = Look &
  ButtonHTMLAttributes<HTMLButtonElement> & {
    /** The action is running: the button stays in place and cannot be pressed again. */
    busy?: boolean
    ref?: Ref<HTMLButtonElement>
  }

const classOf = (kind: ButtonKind, small: boolean) => `${css.button} ${css[kind]} ${small ? css.small : ''}`

export function Button({ kind = 'plain', icon, small = false, busy = false, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classOf(kind, small)}
      // Not `disabled`: a disabled button loses the focus.
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {busy ? <Icon name="spinner" className={css.spin} /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

export function ButtonLink({ kind = 'plain', icon, small = false, href, children }: Look & { href: string }) {
  return (
    <Link href={href} className={classOf(kind, small)}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  )
}

/** A link to another host, in a new tab without a referrer or an opener. */
export function ExternalLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" className={css.external}>
      <span className={css.externalText}>{children}</span>
      <Icon name="external" size={14} />
      <span className="sr-only">(opens in a new tab)</span>
    </a>
  )
}
