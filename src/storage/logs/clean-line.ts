/**
 * Cleans lines of untrusted programs: no secret, no terminal escape, nothing that hides text, no endless length. A
 * needle is a line of a secret, without the white space around it: each line of a value is one, as programs write them
 * one by one. Texts of less than four characters are no needles, since they are part of many words. A secret is found
 * both as it was written and as it is displayed, so neither colours nor invisible characters hide it. All characters of
 * all needles are removed, also where needles overlap.
 */
import { createSlices } from '../../base/index.ts'
import { addPlace, compileNeedles, type Needles, type Places } from './needles.ts'
import { textAt, visiblePlaces } from './visible.ts'

export const MAX_LINE_CHARACTERS = 8192
const MIN_NEEDLE_LENGTH = 4
const STRUCK = '[secret]'

export type Cleaner = {
  clean(line: string): string
  /** The memory that it uses: at most 52 bytes for each character of the secrets. */
  bytes: number
}

/** Yields to the event loop meanwhile: half a megabyte of secrets takes a few hundred milliseconds. */
export async function compileCleaner(secrets: readonly string[]): Promise<Cleaner> {
  const slices = createSlices()
  const found = new Set<string>()
  for (const secret of secrets) {
    for (const line of secret.split(/[\r\n]+/)) {
      for (const needle of needlesOf(line)) found.add(needle)
      if (slices.isOver()) await slices.rest()
    }
  }
  const needles = await compileNeedles([...found])
  return {
    bytes: needles.bytes,
    clean(line) {
      const shown = visiblePlaces(line)
      const text = textAt(line, shown)
      const cleaned = strike(text, placesIn(line, text, shown, needles))
      return cleaned.length > MAX_LINE_CHARACTERS ? `${cleaned.slice(0, MAX_LINE_CHARACTERS)}… (cut)` : cleaned
    },
  }
}

/** A line as it is in the value, and as it is displayed. */
const needlesOf = (line: string): string[] =>
  [line.trim(), textAt(line, visiblePlaces(line)).trim()].filter(({ length }) => length >= MIN_NEEDLE_LENGTH)

/** The ranges of needles in the displayed text of a line. */
function placesIn(line: string, text: string, shown: Places, needles: Needles): Places {
  const seen = needles.find(text)
  if (text.length === line.length) return seen
  return union(seen, whereShown(needles.find(line), shown))
}

/** Ranges of a line, converted to ranges of its displayed text. */
function whereShown(places: Places, shown: Places): Places {
  const moved: Places = []
  let offset = 0
  let at = 0
  for (let part = 0; part < shown.length; part += 2) {
    const [from, to] = [shown[part] as number, shown[part + 1] as number]
    while (at < places.length && (places[at + 1] as number) <= from) at += 2
    for (let each = at; each < places.length && (places[each] as number) < to; each += 2) {
      const [start, end] = [Math.max(places[each] as number, from), Math.min(places[each + 1] as number, to)]
      addPlace(moved, start - from + offset, end - from + offset)
    }
    offset += to - from
  }
  return moved
}

function union(one: Places, other: Places): Places {
  if (other.length === 0) return one
  const both: Places = []
  let [a, b] = [0, 0]
  while (a < one.length || b < other.length) {
    const isFirst = b >= other.length || (a < one.length && (one[a + 1] as number) <= (other[b + 1] as number))
    if (isFirst) addPlace(both, one[a++] as number, one[a++] as number)
    else addPlace(both, other[b++] as number, other[b++] as number)
  }
  return both
}

function strike(text: string, places: Places): string {
  let struck = ''
  let last = 0
  for (let at = 0; at < places.length; at += 2) {
    struck += text.slice(last, places[at]) + STRUCK
    last = places[at + 1] as number
  }
  return places.length === 0 ? text : struck + text.slice(last)
}
