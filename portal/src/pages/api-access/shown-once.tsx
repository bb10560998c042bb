/**
 * Secrets that are shown once. They are on the page and not in a dialog, which a click beside it or an accidental
 * Escape would close for good. They stay until the user confirms that they are saved, and take the focus.
 */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from '../../components/controls/button.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import css from './shown-once.module.css'

type Props = { title: string; children: ReactNode; onDone(): void; done?: string }

export function ShownOnce({ title, children, onDone, done = 'I have kept it' }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  const id = useId()
  useEffect(() => {
    // After the closed dialog has returned the focus.
    const timer = setTimeout(() => heading.current?.focus())
    return () => clearTimeout(timer)
  }, [])
  return (
    <section className={css.once} aria-labelledby={id}>
      <h2 ref={heading} id={id} tabIndex={-1} className={css.title}>
        <Icon name="check" />
        <span>{title}</span>
      </h2>
      {children}
      <div>
        <Button onClick={onDone}>{done}</Button>
      </div>
    </section>
  )
}

/** A text to save: shown in full, with a copy button. */
export function Kept({ text, what }: { text: string; what: string }) {
  return (
    <span className={css.kept}>
      <code className={css.text}>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}
