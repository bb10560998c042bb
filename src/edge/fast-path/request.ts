/**
 * Parses plain requests: complete GETs of HTTP/1.1 without a body, in the strictest reading of the grammar (RFC 9112,
 * sections 3 and 5). Anything else is left to node:http.
 *
 * Both parsers must agree on where a request ends, so this one accepts only a subset of what node:http accepts.
 */
import type { Limits } from '../limits.ts'

export type PlainRequest = {
  /** Its offset in the chunk. */
  readonly begin: number
  /** Path and query, as the client wrote them. */
  readonly target: string
  /** The Host header, as the client wrote it. */
  readonly authority: string
  /** One header; the name is in lower case. */
  header(name: string): string | undefined
  /** The names, in lower case, that begin with one of these letters. */
  namesFrom(letters: ReadonlySet<number>): string[]
  /** All of them, names in lower case. Building this costs as much as parsing the whole request: `header` is cheap. */
  readonly headers: Record<string, string>
}

/** One that was read from the bytes of a connection. */
export type ParsedRequest = PlainRequest & {
  /** `[name, value, …]`, as the client wrote them. */
  readonly rawHeaders: string[]
}

export function createRequestReader(limits: Limits) {
  /** `text` is the chunk as a string, and `lower` the same in lower case. */
  function readHead(chunk: Buffer, text: string, lower: string, begin: number): Head | undefined {
    if (!beginsPlain(chunk, begin)) return undefined
    const targetBegin = begin + METHOD_BYTES
    const targetEnd = skip(TARGET, chunk, targetBegin)
    if (targetEnd - targetBegin > limits.requestTargetBytes || !text.startsWith(VERSION, targetEnd)) return undefined

    const marks: Marks = []
    let hosts = 0
    let at = targetEnd + VERSION.length
    while (chunk[at] !== CR) {
      const nameBegin = at
      const nameEnd = skip(NAME, chunk, at)
      if (nameEnd === nameBegin || chunk[nameEnd] !== COLON) return undefined
      let valueBegin = nameEnd + 1
      while (isBlank(chunk[valueBegin])) valueBegin++
      at = skip(VALUE, chunk, valueBegin)
      if (chunk[at] !== CR || chunk[at + 1] !== LF) return undefined
      let valueEnd = at
      while (valueEnd > valueBegin && isBlank(chunk[valueEnd - 1])) valueEnd--

      if ((PARTS[chunk[nameBegin] as number] as number) & SPECIAL_INITIAL) {
        const name = lower.slice(nameBegin, nameEnd)
        if (name === 'host') hosts += valueEnd > valueBegin ? 1 : 2
        else if (!isPlain(name, lower, valueBegin, valueEnd)) return undefined
      }
      if (marks.length >= limits.requestHeaders * 4 || isRepeated(lower, marks, nameBegin, nameEnd)) return undefined
      marks.push(nameBegin, nameEnd, valueBegin, valueEnd)
      at += 2
    }
    if (chunk[at + 1] !== LF || hosts !== 1) return undefined
    return new Head(text, lower, marks, { begin, end: at + 2, target: text.slice(targetBegin, targetEnd) })
  }

  /** All requests of a chunk; undefined unless it consists of complete plain requests only. */
  return function readRequests(chunk: Buffer): ParsedRequest[] | undefined {
    if (!beginsPlain(chunk, 0) || chunk.length >= limits.requestHeaderBytes) return undefined
    const text = chunk.toString('latin1')
    const lower = text.toLowerCase()
    const heads: Head[] = []
    for (let at = 0; at < chunk.length; ) {
      const head = readHead(chunk, text, lower, at)
      if (!head) return undefined
      heads.push(head)
      at = head.end
    }
    return heads
  }
}

/** A class, for its lazy getter: most requests are answered by few of their headers. */
class Head implements ParsedRequest {
  readonly begin: number
  readonly end: number
  readonly target: string
  readonly authority: string
  private readonly text: string
  private readonly lower: string
  private readonly marks: Marks
  private made: Record<string, string> | undefined

  constructor(text: string, lower: string, marks: Marks, place: { begin: number; end: number; target: string }) {
    this.begin = place.begin
    this.end = place.end
    this.target = place.target
    this.text = text
    this.lower = lower
    this.marks = marks
    this.made = undefined
    this.authority = this.header('host') ?? ''
  }

  header(name: string): string | undefined {
    const marks = this.marks
    for (let at = 0; at < marks.length; at += 4) {
      const begin = marks[at] as number
      if ((marks[at + 1] as number) - begin === name.length && this.lower.startsWith(name, begin)) {
        return this.text.slice(marks[at + 2], marks[at + 3])
      }
    }
    return undefined
  }

  namesFrom(letters: ReadonlySet<number>): string[] {
    const names: string[] = []
    const marks = this.marks
    for (let at = 0; at < marks.length; at += 4) {
      const begin = marks[at] as number
      if (letters.has(this.lower.charCodeAt(begin))) names.push(this.lower.slice(begin, marks[at + 1]))
    }
    return names
  }

  get rawHeaders(): string[] {
    const headers: string[] = []
    const marks = this.marks
    for (let at = 0; at < marks.length; at += 4)
      headers.push(this.text.slice(marks[at], marks[at + 1]), this.text.slice(marks[at + 2], marks[at + 3]))
    return headers
  }

  get headers(): Record<string, string> {
    if (this.made) return this.made
    const headers = new Fields()
    const marks = this.marks
    for (let at = 0; at < marks.length; at += 4) {
      headers[this.lower.slice(marks[at], marks[at + 1])] = this.text.slice(marks[at + 2], marks[at + 3])
    }
    this.made = headers
    return headers
  }
}

/**
 * An object without the properties of Object.prototype, so that a header with the name of one is an ordinary header. V8 reads one
 * with a constructor faster than one of `Object.create(null)`.
 */
function NoFields() {
  // The headers become its properties.
}
NoFields.prototype = Object.create(null)
const Fields = NoFields as unknown as new () => Record<string, string>

/** Begin and end of each header's name and of its value: four numbers for each header. */
type Marks = number[]

/** The header neither affects the framing nor asks for anything but a response. */
function isPlain(name: string, lower: string, valueBegin: number, valueEnd: number): boolean {
  if (name === 'connection') return lower.slice(valueBegin, valueEnd) === 'keep-alive'
  return !NOT_PLAIN.has(name) && !name.startsWith('proxy-')
}

const NOT_PLAIN = new Set([
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'expect',
  'keep-alive',
  // node:http drops it.
  '__proto__',
])

/** How two headers of one name are combined depends on the name: that is left to node:http. */
function isRepeated(lower: string, marks: Marks, nameBegin: number, nameEnd: number): boolean {
  for (let at = 0; at < marks.length; at += 4) {
    const begin = marks[at] as number
    if ((marks[at + 1] as number) - begin === nameEnd - nameBegin && isSame(lower, begin, nameBegin, nameEnd))
      return true
  }
  return false
}

function isSame(lower: string, other: number, begin: number, end: number): boolean {
  // From the end: names of the same length often have the same prefix, as `sec-fetch-mode` and `sec-fetch-site` do.
  for (let at = end - 1; at >= begin; at--)
    if (lower.charCodeAt(at) !== lower.charCodeAt(other + at - begin)) return false
  return true
}

const METHOD_BYTES = 'GET '.length
const VERSION = ' HTTP/1.1\r\n'
const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a

const beginsPlain = (chunk: Buffer, at: number): boolean =>
  chunk[at] === 0x47 &&
  chunk[at + 1] === 0x45 &&
  chunk[at + 2] === 0x54 &&
  chunk[at + 3] === 0x20 &&
  chunk[at + 4] === 0x2f

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09

/** Bits: what a byte may be part of. */
const TARGET = 1
const NAME = 2
const VALUE = 4
/** A first letter of `host` or of a name that `isPlain` checks. */
const SPECIAL_INITIAL = 8

const PARTS = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  const letter = String.fromCharCode(byte)
  // Browsers send characters that the grammar of a URI does not allow, such as `|`. A fragment is never sent (RFC 9112,
  // section 3.2).
  const isTarget = byte > 0x20 && byte < 0x7f && letter !== '#'
  const isName = /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(letter)
  const isValue = byte === 0x09 || (byte >= 0x20 && byte !== 0x7f)
  const isSpecial = ['host', 'connection', 'proxy-', ...NOT_PLAIN].some((name) => name[0] === letter.toLowerCase())
  PARTS[byte] =
    (isTarget ? TARGET : 0) | (isName ? NAME : 0) | (isValue ? VALUE : 0) | (isSpecial ? SPECIAL_INITIAL : 0)
}

/** The offset of the first byte that is no such part. */
function skip(part: number, chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && ((PARTS[chunk[at] as number] as number) & part) !== 0) at++
  return at
}
