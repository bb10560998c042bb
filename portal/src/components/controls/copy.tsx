/** Copies a text, and confirms it. Where the browser forbids copying, the text is selected for the reader to copy. */
import { useEffect, useRef, useState } from 'react'
import { useToast } from '../feedback/toasts.tsx'
import { Icon } from '../layout/icon.tsx'
import css from './copy.module.css'

type Props = { text: string /** What is copied, as in `the id`. */; what: string }

const SHOWN_MS = 2_000

export function CopyButton({ text, what }: Props) {
  const [isCopied, setCopied] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const say = useToast()
  useEffect(() => () => clearTimeout(timer.current), [])

  async function copy(button: HTMLElement) {
    if (await write(text, button)) {
      setCopied(true)
      clearTimeout(timer.current)
      timer.current = setTimeout(() => setCopied(false), SHOWN_MS)
      say(`Copied ${what}.`, { quiet: true })
    } else {
      say('The browser does not allow copying here: it is selected, press Ctrl+C.', { tone: 'warn' })
    }
  }

  return (
    <button
      type="button"
      className={css.copy}
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={(event) => copy(event.currentTarget)}
    >
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
    </button>
  )
}

/** `navigator.clipboard` exists only on https and on localhost; `execCommand` works everywhere. */
async function write(text: string, beside: HTMLElement): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // Refused by the browser or by its user: `execCommand` may still be allowed.
    }
  }
  const field = document.createElement('textarea')
  field.value = text
  field.setAttribute('aria-hidden', 'true')
  field.className = css.hiddenField ?? ''
  beside.after(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  beside.focus()
  return done
}

/** A text to copy: an id, an address. */
export function CopyText({ text, what }: Props) {
  return (
    <span className={css.text}>
      <code className={css.code}>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}
