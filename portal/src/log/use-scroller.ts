/**
 * The part of a log that is in sight. Only that is drawn; the rest is height. It follows the end for as long as the reader
 * is there, stops when he scrolls up, and goes on when he comes back. Whatever changes above, the line at the top stays.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { createLayout } from './layout.ts'
import type { Rows } from './rows.ts'

/** Rows that are drawn beyond the edges, so that scrolling shows no gap. */
const BEYOND = 12
/** Closer to the end than this is at the end: zoomed pages have fractions of pixels. */
const END_PX = 8

type Size = { height: number; lineHeight: number; columns: number }

export type Scroller = {
  /** What scrolls. */
  element: RefObject<HTMLDivElement | null>
  /** A row that nobody sees: tells how high a line is and how much of it fits into the width. */
  probe: RefObject<HTMLDivElement | null>
  /** Holds the rows that are drawn. */
  drawn: RefObject<HTMLDivElement | null>
  first: number
  end: number
  /** In pixels: where the drawn rows begin, and how high all rows are. */
  top: number
  height: number
  isFollowing: boolean
  onScroll(): void
  follow(): void
  /** Brings the line of this number into sight; false where it is not among the rows. */
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

  // Finds done what is done, so it may run with every render.
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

  /** The reader is where he wants to be. */
  function take(box: HTMLElement) {
    const isUp = box.scrollTop < lastTop.current
    const isAtEnd = box.scrollHeight - box.clientHeight - box.scrollTop < END_PX
    settle(box.scrollTop)
    if (isAtEnd) setFollowing(true)
    else if (isUp) setFollowing(false)
  }

  // After each drawing: what was guessed is corrected, and the reader is put where he was or wants to be.
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
    // The reader has scrolled, and the event is still to come: he is not put back to where he was.
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
      // What was moved from here is no wish of the reader's.
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

/** Whether the reader has moved it from where it was put. What has become lower than that, the browser moves itself. */
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
    // The smallest part of a pixel is left to rounding.
    columns: Math.max(1, Math.floor(text.getBoundingClientRect().width / column + 0.01)),
  }
  const isSame = (Object.keys(size) as (keyof Size)[]).every((key) => size[key] === before[key])
  return isSame ? before : size
}
