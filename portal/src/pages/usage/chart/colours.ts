/** The colours of the page for a canvas, which does not support custom properties, and their colour scheme. */
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

/** The colours that apply to the element `place`. */
export const readColours = (place: HTMLElement): Colours =>
  Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, readColour(place, name)])) as Colours

/**
 * Reading a custom property returns its source text, such as `light-dark(…)`, so an element has to use it. A new
 * element for each: an existing one would start a transition and return the old colour.
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
