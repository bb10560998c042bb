/** The colours of the page for a canvas, which knows no custom properties, and the scheme that they belong to. */
import { useSyncExternalStore } from 'react'

const NAMES = {
  accent: '--accent',
  bad: '--bad-solid',
  warn: '--warn',
  quiet: '--line-strong',
  faint: '--line',
  line: '--line',
  text: '--text-quiet',
  panel: '--panel',
} as const

export type Colours = Record<keyof typeof NAMES, string>

/** As they are where `place` stands. */
export const readColours = (place: HTMLElement): Colours =>
  Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, readColour(place, name)])) as Colours

/**
 * A property is told as it is written, `light-dark(…)` and all, so an element has to wear it. A new one for each: on one
 * that is there already, a transition would begin, and the old colour be told.
 */
function readColour(place: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  place.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const dark = matchMedia('(prefers-color-scheme: dark)')

function follow(listener: () => void): () => void {
  dark.addEventListener('change', listener)
  return () => dark.removeEventListener('change', listener)
}

export const useScheme = (): 'dark' | 'light' => useSyncExternalStore(follow, () => (dark.matches ? 'dark' : 'light'))
