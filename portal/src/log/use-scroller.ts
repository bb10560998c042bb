/**
 * The visible part of a log. Only that part is rendered; the rest is empty height. It follows the end while the reader
 * is at the end, stops when the reader scrolls up, and continues when the reader returns to the end. Changes above the
 * visible part do not move the line at the top.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { createLayout } from './layout.ts'
import type { Rows } from './rows.ts'

/** Rows that are rendered beyond the edges, so that scrolling shows no gap. */
const BEYOND = 12
/** Within this distance, the reader counts as being at the end: zoomed pages have fractions of pixels. */
const END_PX = 8

type Size = { height: number; lineHeight: number; columns: number }

export type Scroller = {
  /** The element that scrolls. */
  element: RefObject<HTMLDivElement | null>
  /** An invisible row, to measure the height of a line and how many columns fit into the width. */
  probe: RefObject<HTMLDivElement | null>
  /** Contains the rows that are rendered. */
  drawn: RefObject<HTMLDivElement | null>
  first: number
  end: number
  /** In pixels: where the rendered rows begin, and the height of all rows. */
  top: number
  height: number
  isFollowing: boolean
  onScroll(): void
  follow(): void
  /** Scrolls to the line with this number; false when it is not among the rows. */
  goTo(number: number): boolean
  /** The number of the line at the top. */
  topLine(): number
}

export function useScroller(rows: Rows, { wraps, follows }: { wraps: boolean; follows: boolean }): Scroller {
  const element = useRef<HTMLDivElement>(null)
  const probe = useRef<HTMLDivElement>(null)
  const drawn = useRef<HTMLDivElement>(null)
  const anchor = useRef({ number: 0, within: 0 })
  const lastTop = useRef(0)
  const [size, setSize] = useState<Size>({ height: 600, lineHeight: 20, columns: 0 })
  const [place, setPlace] = useState(0)
  const [isFollowing, setFollowing] = useState(follows)
  const layout = useMemo(() => createLayout(rows), [rows])
  const known = useRef(layout)
  const { lineHeight } = size
  const [, redraw] = useState(0)

  // Idempotent, so it may run with every render.
  const isAnew = layout.update(wraps ? size.columns : 0) || known.current !== layout
  const isAnewRef = useRef(false)
  isAnewRef.current ||= isAnew

  const first = Math.max(0, layout.at(place / lineHeight) - BEYOND)
  const end = Math.min(rows.count(), layout.at((place + size.height) / lineHeight) + BEYOND + 1)

  useEffect(() => {
    const box = element.current
    if (!box) return
    const observer = new ResizeObserver(() => setSize((before) => measured(box, probe.current, before)))
    observer.observe(box)
    if (probe.current) observer.observe(probe.current)
    return () => observer.disconnect()
  }, [])

  const settle = useCallback(
    (top: number) => {
      const box = element.current
      if (!box) return
      box.scrollTop = top
      lastTop.current = box.scrollTop
      setPlace(box.scrollTop)
      const index = layout.at(box.scrollTop / lineHeight)
      anchor.current = {
        number: rows.at(index)?.number ?? 0,
        within: box.scrollTop - layout.topOf(index) * lineHeight,
      }
    },
    [layout, rows, lineHeight],
  )

  /** The current position is the one that the reader chose. */
  function take(box: HTMLElement) {
    const isUp = box.scrollTop < lastTop.current
    const isAtEnd = box.scrollHeight - box.clientHeight - box.scrollTop < END_PX
    settle(box.scrollTop)
    if (isAtEnd) setFollowing(true)
    else if (isUp) setFollowing(false)
  }

  // After each render: correct the estimated heights, and restore or set the scroll position.
  useLayoutEffect(() => {
    known.current = layout
    let isMoved = isAnewRef.current
    isAnewRef.current = false
    if (wraps) {
      let isCorrected = false
      for (const [index, child] of [...(drawn.current?.children ?? [])].entries()) {
        const height = Math.round((child as HTMLElement).offsetHeight / lineHeight)
        if (layout.correct(first + index, Math.max(1, height))) isCorrected = true
      }
      if (isCorrected) {
        isMoved = true
        redraw((count) => count + 1)
      }
    }
    const box = element.current
    if (!box) return
    // The reader has scrolled and the event has not arrived yet: do not restore the old position.
    if (isScrolled(box, lastTop.current)) take(box)
    else if (isFollowing) {
      if (box.scrollHeight - box.clientHeight - box.scrollTop > 1) settle(box.scrollHeight)
    } else if (isMoved) {
      const index = rows.indexOf(anchor.current.number)
      if (index !== undefined) settle(layout.topOf(index) * lineHeight + anchor.current.within)
    }
  })

  return {
    element,
    probe,
    drawn,
    first,
    end,
    top: layout.topOf(first) * lineHeight,
    height: layout.total() * lineHeight,
    isFollowing,
    onScroll() {
      const box = element.current
      // This code moved the position, not the reader.
      if (box && Math.abs(box.scrollTop - lastTop.current) >= 1) take(box)
    },
    follow() {
      setFollowing(true)
      settle(element.current?.scrollHeight ?? 0)
    },
    goTo(number) {
      if (!rows.has(number)) return false
      setFollowing(false)
      const top = layout.topOf(rows.indexOf(number) ?? 0) * lineHeight
      settle(Math.max(0, top - size.height / 3))
      return true
    },
    topLine: () => anchor.current.number,
  }
}

/**
 * Whether the reader moved it away from where this code put it. When the content gets shorter, the browser moves it.
 */
function isScrolled(box: HTMLElement, lastTop: number): boolean {
  const expected = Math.min(lastTop, Math.max(0, box.scrollHeight - box.clientHeight))
  return Math.abs(box.scrollTop - expected) >= 1
}

function measured(box: HTMLElement, probe: HTMLElement | null, before: Size): Size {
  const text = probe?.querySelector<HTMLElement>('[data-probe]')
  const ruler = text?.firstElementChild?.getBoundingClientRect()
  if (!text || !ruler || ruler.width === 0) return before
  const column = ruler.width / (text.textContent?.length || 1)
  const size = {
    height: box.clientHeight,
    lineHeight: ruler.height,
    // A hundredth of a column is tolerated as rounding.
    columns: Math.max(1, Math.floor(text.getBoundingClientRect().width / column + 0.01)),
  }
  const isSame = (Object.keys(size) as (keyof Size)[]).every((key) => size[key] === before[key])
  return isSame ? before : size
}
