/** A modal dialog, by the browser's own `<dialog>`: it keeps the focus inside, and Escape closes it. */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import css from './dialog.module.css'

type Props = { title: string; onClose(): void; children: ReactNode; wide?: boolean }

/** Shown for as long as it is rendered. */
export function Dialog({ title, onClose, children, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()

  useEffect(() => {
    // On unmount, the focus returns to the element that had it.
    const before = document.activeElement as HTMLElement | null
    element.current?.showModal()
    return () => before?.focus?.()
  }, [])

  return (
    <dialog
      ref={element}
      className={`${css.dialog} ${wide ? css.wide : ''}`}
      aria-labelledby={id}
      onClose={onClose}
      // A click beside the dialog closes it; Escape does the same for the keyboard.
      onPointerDown={(event) => event.target === element.current && element.current.close()}
    >
      <div className={css.body}>
        <h2 id={id} className={css.title}>
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  )
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className={css.actions}>{children}</div>
}
