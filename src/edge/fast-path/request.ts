/**
 * Reads plain requests out of bytes: whole GETs of HTTP/1.1 without a body, in the strictest reading of the grammar
 * (RFC 9112, sections 3 and 5). Whatever is anything else is not judged here: node:http reads it.
 *
 * What is read here must be read alike there, or two ends of a connection disagree on where a request ends. So this
 * reader only ever takes less than node:http does.
 */
import type { Limits } from '../limits.ts'

export type PlainRequest = {
  /** Where in the chunk it begins. */
  readonly begin: number
  /** Path and query, as the client wrote them. */
  readonly target: string
  /** The Host header, as the client wrote it. */
  readonly authority: string
  /** One header; the name is in lower case. */
  header(name: string): string | undefined
  /** The names, in lower case, that begin with one of these letters. */
  namesFrom(letters: ReadonlySet<number>): string[]
  /** All of them, names in lower case. To make this costs as much as to read the whole request: `header` costs little. */
  readonly headers: Record<string, string>
}

/** All requests of a chunk; undefined unless it consists of whole plain ones and ends with the last. */
export function readPlainRequests(chunk: Buffer, limits: Limits): PlainRequest[] | undefined {
  if (!beginsPlain(chunk, 0) || chunk.length >= limits.requestHeaderBytes) return undefined
  const text = chunk.toString('latin1')
  const lower = text.toLowerCase()
  const heads: Head[] = []
  for (let at = 0; at < chunk.length; ) {
    const head = readHead(chunk, text, lower, at, limits)
    if (!head) return undefined
    heads.push(head)
    at = head.end
  }
  return heads
}

/** A class, for its getter: most requests are answered by few of their headers. */
class Head implements PlainRequest {
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

  get headers(): Record<string, string> {
    if (this.made) return this.made
    // Without a prototype, a header named like something of Object.prototype is just a header.
    const headers: Record<string, string> = Object.create(null)
    const marks = this.marks
    for (let at = 0; at < marks.length; at += 4) {
      headers[this.lower.slice(marks[at], marks[at + 1])] = this.text.slice(marks[at + 2], marks[at + 3])
    }
    this.made = headers
    return headers
  }
}

/** Where each header's name begins and ends, and its value: four numbers for each. */
type Marks = number[]

function readHead(chunk: Buffer, text: string, lower: string, begin: number, limits: Limits): Head | undefined {
  if (!beginsPlain(chunk, begin)) return undefined
  const targetBegin = begin + METHOD_BYTES
  const targetEnd = pass(TARGET, chunk, targetBegin)
  if (targetEnd - targetBegin > limits.requestTargetBytes || !text.startsWith(VERSION, targetEnd)) return undefined

  const marks: Marks = []
  let hosts = 0
  let at = targetEnd + VERSION.length
  while (chunk[at] !== CR) {
    const nameBegin = at
    const nameEnd = pass(NAME, chunk, at)
    if (nameEnd === nameBegin || chunk[nameEnd] !== COLON) return undefined
    let valueBegin = nameEnd + 1
    while (isBlank(chunk[valueBegin])) valueBegin++
    at = pass(VALUE, chunk, valueBegin)
    if (chunk[at] !== CR || chunk[at + 1] !== LF) return undefined
    let valueEnd = at
    while (valueEnd > valueBegin && isBlank(chunk[valueEnd - 1])) valueEnd--

    if ((PARTS[chunk[nameBegin] as number] as number) & TELLING) {
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

/** Says nothing of the message's end, and asks for no more than a response. */
function isPlain(name: string, lower: string, valueBegin: number, valueEnd: number): boolean {
  if (name === 'connection') return lower.slice(valueBegin, valueEnd) === 'keep-alive'
  return !ABOUT_THE_CONNECTION.has(name) && !name.startsWith('proxy-')
}

const ABOUT_THE_CONNECTION = new Set([
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'expect',
  'keep-alive',
  // Not about it, but node:http loses it.
  '__proto__',
])

/** How two headers of one name are joined is a matter of the name, and for node:http to know. */
function isRepeated(lower: string, marks: Marks, nameBegin: number, nameEnd: number): boolean {
  for (let at = 0; at < marks.length; at += 4) {
    const begin = marks[at] as number
    if ((marks[at + 1] as number) - begin === nameEnd - nameBegin && isSame(lower, begin, nameBegin, nameEnd))
      return true
  }
  return false
}

function isSame(lower: string, other: number, begin: number, end: number): boolean {
  // From the end: names that are equally long often begin alike, as `sec-fetch-mode` and `sec-fetch-site` do.
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

/** What a byte may be a part of. */
const TARGET = 1
const NAME = 2
const VALUE = 4
/** What the names begin with that `host`, `isPlain` and `ABOUT_THE_CONNECTION` are about. */
const TELLING = 8

const PARTS = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  const letter = String.fromCharCode(byte)
  // Browsers send more than the grammar of a URI has, such as `|`. A fragment is never sent (RFC 9112, section 3.2).
  const isTarget = byte > 0x20 && byte < 0x7f && letter !== '#'
  const isName = /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(letter)
  const isValue = byte === 0x09 || (byte >= 0x20 && byte !== 0x7f)
  const isTelling = ['host', 'connection', 'proxy-', ...ABOUT_THE_CONNECTION].some(
    (name) => name[0] === letter.toLowerCase(),
  )
  PARTS[byte] = (isTarget ? TARGET : 0) | (isName ? NAME : 0) | (isValue ? VALUE : 0) | (isTelling ? TELLING : 0)
}

/** The first byte that is no such part. */
function pass(part: number, chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && ((PARTS[chunk[at] as number] as number) & part) !== 0) at++
  return at
}
