/**
 * The displayed text of a line: without terminal escapes, without text that a carriage return overwrites, and without
 * characters that move the cursor or hide text. One pass, linear in the line: the regular expression behind
 * `stripVTControlCharacters` takes 22 seconds for 140 KB of unterminated escapes.
 */
import type { Places } from './needles.ts'

/** The visible parts of a line, in order. */
export function visiblePlaces(text: string): Places {
  if (!UNUSUAL.test(text)) return text === '' ? [] : [0, text.length]
  const places: Places = []
  const endOfString = createStringEnds(text)
  let isReturned = false

  function show(from: number, to: number) {
    // A carriage return overwrites the line: only the text after the last one is displayed.
    if (isReturned) places.length = 0
    isReturned = false
    if (places.at(-1) === from) places[places.length - 1] = to
    else places.push(from, to)
  }

  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === ESCAPE || isC1(code)) at = endOfEscape(text, at, endOfString)
    else if (code === RETURN) {
      isReturned = true
      at += 1
    } else {
      const width = isPair(text, at) ? 2 : 1
      if (width === 2 || !isHidden(code)) show(at, at + width)
      at += width
    }
  }
  return places
}

export function textAt(text: string, places: Places): string {
  let joined = ''
  for (let at = 0; at < places.length; at += 2) joined += text.slice(places[at], places[at + 1])
  return joined
}

/** Any character except a tab and those that are printed as they are. */
const UNUSUAL = /[^\t\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\uffff]/

const [ESCAPE, BELL, RETURN, TAB] = [0x1b, 0x07, 0x0d, 0x09]
const C1_STRING_END = 0x9c
const isC1 = (code: number): boolean => code >= 0x80 && code <= 0x9f
const isBetween = (code: number, from: number, to: number): boolean => code >= from && code <= to

const isHidden = (code: number): boolean =>
  (code < 0x20 && code !== TAB) ||
  isBetween(code, 0x7f, 0x9f) ||
  // A lone surrogate.
  isBetween(code, 0xd800, 0xdfff) ||
  // Unicode line separators, and marks that change the direction of text.
  isBetween(code, 0x2028, 0x202e) ||
  isBetween(code, 0x2066, 0x2069)

const isPair = (text: string, at: number): boolean =>
  isBetween(text.charCodeAt(at), 0xd800, 0xdbff) && isBetween(text.charCodeAt(at + 1), 0xdc00, 0xdfff)

/** The control functions of ECMA-48 that a string follows: OSC, DCS, SOS, PM, APC, as the letters after an escape. */
const STRINGS: ReadonlySet<number> = new Set([...']PX^_'].map((letter) => letter.charCodeAt(0)))
const CONTROL_SEQUENCE = 0x5b

/** The end of the control function that begins here. Of an incomplete one, the part that is there. */
function endOfEscape(text: string, at: number, endOfString: (from: number) => number): number {
  const isLong = text.charCodeAt(at) === ESCAPE
  const kind = isLong ? text.charCodeAt(at + 1) : text.charCodeAt(at) - 0x40
  const body = isLong ? at + 2 : at + 1
  if (kind === CONTROL_SEQUENCE) {
    const end = past(text, past(text, body, 0x30, 0x3f), 0x20, 0x2f)
    return isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : end
  }
  if (STRINGS.has(kind)) return endOfString(body)
  if (isLong && isBetween(kind, 0x20, 0x2f)) {
    const end = past(text, body, 0x20, 0x2f)
    return isBetween(text.charCodeAt(end), 0x30, 0x7e) ? end + 1 : end
  }
  return isLong && !isBetween(kind, 0x30, 0x7e) ? at + 1 : body
}

function past(text: string, from: number, min: number, max: number): number {
  let at = from
  while (isBetween(text.charCodeAt(at), min, max)) at++
  return at
}

/** An unterminated string is displayed: only its introducer is removed. Each end is searched once. */
function createStringEnds(text: string): (from: number) => number {
  let known = -1
  return (from) => {
    if (known < from) {
      known = from
      while (known < text.length && endLength(text, known) === 0) known++
    }
    return known < text.length ? known + endLength(text, known) : from
  }
}

function endLength(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === BELL || code === C1_STRING_END) return 1
  return code === ESCAPE && text.charCodeAt(at + 1) === 0x5c ? 2 : 0
}
