/**
 * Short messages in a corner, also announced to screen readers. They contain no controls, so they may disappear by
 * themselves.
 */
import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react'
import { Icon } from '../layout/icon.tsx'
import css from './toasts.module.css'

export type ToastTone = 'good' | 'warn' | 'bad'
type Options = {
  tone?: ToastTone
  /** Announced and not shown: the pressed button shows it already. */
  quiet?: boolean
}
/** Returns a function that removes the message early, when it is no longer true. */
type Say = (text: string, options?: Options) => () => void
type Toast = { id: number; text: string; tone: ToastTone; quiet: boolean }

const SHOWN_MS = 6_000
const MAX_SHOWN = 4

const Context = createContext<Say>(() => () => undefined)

export const useToast = (): Say => useContext(Context)

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([])
  const next = useRef(0)
  const say = useCallback<Say>((text, { tone = 'good', quiet = false } = {}) => {
    const id = next.current++
    setToasts((before) => [...before.slice(1 - MAX_SHOWN), { id, text, tone, quiet }])
    const remove = () => setToasts((before) => before.filter((toast) => toast.id !== id))
    setTimeout(remove, SHOWN_MS)
    return remove
  }, [])

  return (
    <Context value={say}>
      {children}
      <div className={css.toasts} role="status" aria-live="polite">
        {toasts.map(({ id, text, tone, quiet }) => (
          <p key={id} className={quiet ? 'sr-only' : `${css.toast} ${css[tone]}`}>
            <Icon name={tone === 'good' ? 'check' : 'warning'} />
            <span>{text}</span>
          </p>
        ))}
      </div>
    </Context>
  )
}
