/**
 * Keyboard shortcuts: `/` searches, `g` and a letter opens a page, `?` lists them all. They are ignored while the user
 * types, and can be turned off, as they may disturb speech input (WCAG 2.1.4).
 */
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../components/controls/button.tsx'
import { Dialog, DialogActions } from '../components/controls/dialog.tsx'
import { ENVIRONMENT_PAGES } from '../pages.tsx'
import { appsPath } from '../paths.ts'
import { useSession } from '../session/session.tsx'
import css from './shortcuts.module.css'

const KEY = 'headland.shortcuts'
const OPEN = 'headland-shortcuts'
const SEQUENCE_MS = 1_200
const ENVIRONMENT = /^\/[^/]+\/apps\/[^/]+\/environments\/[^/]+/

export const openShortcuts = () => document.dispatchEvent(new Event(OPEN))

export function Shortcuts() {
  const { account } = useSession()
  const [location, go] = useLocation()
  const [isOpen, setOpen] = useState(false)
  const [isOn, setOn] = useState(() => readSetting() !== 'off')

  useEffect(() => {
    const open = () => setOpen(true)
    document.addEventListener(OPEN, open)
    return () => document.removeEventListener(OPEN, open)
  }, [])

  useEffect(() => {
    if (!isOn) return
    let leader = Number.NEGATIVE_INFINITY

    function onKey(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('dialog[open]')) return
      const isSecond = performance.now() - leader < SEQUENCE_MS
      leader = Number.NEGATIVE_INFINITY
      if (isSecond) {
        const href = event.key === 'a' ? appsPath(account) : pageFor(location, event.key)
        if (href === undefined) return
        event.preventDefault()
        go(href)
      } else if (event.key === 'g') {
        leader = performance.now()
      } else if (event.key === '/') {
        const field = document.querySelector<HTMLInputElement>('[data-search]')
        if (!field) return
        event.preventDefault()
        field.focus()
        field.select()
      } else if (event.key === '?') {
        event.preventDefault()
        setOpen(true)
      }
    }

    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isOn, account, location, go])

  if (!isOpen) return null
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
      <dl className={css.keys}>
        <Row keys={['/']} text="Search on this page" />
        <Row keys={['g', 'a']} text="Apps" />
        <Row keys={['?']} text="This help" />
        {ENVIRONMENT.test(location) &&
          ENVIRONMENT_PAGES.map(({ title, key }) => title && key && <Row key={title} keys={['g', key]} text={title} />)}
      </dl>
      <label className={css.toggle}>
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => {
            setOn(event.target.checked)
            writeSetting(event.target.checked ? 'on' : 'off')
          }}
        />
        Use these shortcuts
      </label>
      <DialogActions>
        <Button onClick={() => setOpen(false)}>Close</Button>
      </DialogActions>
    </Dialog>
  )
}

function Row({ keys, text }: { keys: readonly string[]; text: string }) {
  return (
    <div className={css.row}>
      <dt>
        {keys.map((key) => (
          <kbd key={key} className={css.key}>
            {key}
          </kbd>
        ))}
      </dt>
      <dd>{text}</dd>
    </div>
  )
}

function pageFor(location: string, key: string): string | undefined {
  const environment = ENVIRONMENT.exec(location)?.[0]
  const page = ENVIRONMENT_PAGES.find((each) => each.key === key)
  if (!environment || !page) return undefined
  return page.section ? `${environment}/${page.section}` : environment
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

function readSetting(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

function writeSetting(value: string) {
  try {
    localStorage.setItem(KEY, value)
  } catch {
    // Storage may be forbidden: the choice lasts until the page is closed.
  }
}
