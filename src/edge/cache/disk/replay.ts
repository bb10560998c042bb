/**
 * What an earlier run left, told in its order. Every segment begins with a record that names the one before it and up to
 * where that one counts, so the log is a chain from its newest segment back, and whatever is not in the chain is nothing.
 *
 * The newest segment may end in the middle of a record: its process was killed. Any other fault is damage, and a note
 * may have been lost by it. A lost note concerns what stands before it, so the damaged segment goes, and all older ones.
 */
import { close, fstat, open, read } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Place } from './index.ts'
import { readLargeReference } from './large.ts'
import { type End, isMissing } from './marker.ts'
import { HEADER_BYTES, type Header, readBody, readHeader, readText } from './records.ts'
import { nameOf, type Segment, type Segments } from './segments.ts'

/** Said by the first record of a segment. */
export type Start = { run: string; number: number; previous?: End | undefined }

type Link = Start & { length: number | undefined }

type Parts = {
  folder: string
  segments: Segments
  /** Large files that are there, and their sizes. */
  large: ReadonlyMap<string, number>
  onPut(place: Place, meta: string): void
  onNote(text: string): void
  report(error: unknown): void
}

/**
 * Small records are read many at a time, and a body that is longer than this is not read at all. To read the headers alone
 * takes seven times as long for records of 10 KiB: a thread has to be woken for each.
 */
const WINDOW_BYTES = 256 * 1024

/** `run` and `end` are those of the marker; `numbers` are the segments of that run. */
export async function replay(parts: Parts, run: string, end: End | undefined, numbers: readonly number[]) {
  for (const link of await chain(parts, run, end, numbers)) {
    let segment: Segment | undefined
    try {
      segment = parts.segments.takeOver(link.run, link.number)
      await replaySegment(parts, segment, link.length)
    } catch (error) {
      parts.report(error)
      if (segment) parts.segments.dropUpTo(segment)
      else parts.segments.dropAll()
    }
  }
}

/** Oldest first. */
async function chain({ folder, report }: Parts, run: string, end: End | undefined, numbers: readonly number[]) {
  const links: Link[] = []
  try {
    let next = end
    for (const number of numbers.toSorted((one, other) => other - one)) {
      // One that was just begun has nothing in it.
      const start = await readStart(folder, { run, number })
      if (start === 'torn') continue
      links.push({ ...start, length: undefined })
      next = start.previous
      break
    }
    while (next) {
      const start = await readStart(folder, next)
      if (start === 'torn') throw damage(next, 0)
      links.push({ ...start, length: next.length })
      next = start.previous
    }
  } catch (error) {
    // The oldest one that is left names one that was dropped. That is how every chain ends after a while.
    if (!isMissing(error)) report(error)
  }
  return links.reverse()
}

async function readStart(folder: string, { run, number }: { run: string; number: number }): Promise<Start | 'torn'> {
  const fd = await openFile(join(folder, nameOf(run, number)), 'r')
  try {
    const window = createWindow(fd, (await stat(fd)).size)
    const found = await window.record(0)
    if (found === 'torn' || found === undefined) return 'torn'
    const text = readText(found.buffer, found.at, found.header)
    const start: Start | undefined = found.header.kind === 'start' && text !== undefined ? JSON.parse(text) : undefined
    if (start?.run !== run || start.number !== number) throw damage({ run, number }, 0)
    if (start.previous && start.previous.number >= number) throw damage({ run, number }, 0)
    return start
  } finally {
    await closeFile(fd)
  }
}

/** Without a length it is the newest, and counts up to its last whole record. */
async function replaySegment({ segments, large, onPut, onNote }: Parts, segment: Segment, length: number | undefined) {
  const { size } = await stat(segment.fd)
  if (size < (length ?? 0)) throw damage(segment, size)
  const window = createWindow(segment.fd, length ?? size)
  for (;;) {
    const offset = segment.length
    const looked = window.record(offset)
    const found = looked instanceof Promise ? await looked : looked
    if (found === 'torn' && length !== undefined) throw damage(segment, offset)
    if (found === undefined || found === 'torn') break
    const { header, buffer, at } = found
    const text = readText(buffer, at, header)
    if (text === undefined) throw damage(segment, offset)
    segments.grow(segment, header.bytes)
    const place = { segment: segment.number, offset, metaBytes: header.textBytes, bodyBytes: header.bodyBytes }
    if (header.kind === 'note') onNote(text)
    if (header.kind === 'put') {
      segment.live++
      onPut(place, text)
    }
    if (header.kind === 'large') {
      const reference = readLargeReference(readBody(buffer, at, header))
      if (!reference) throw damage(segment, offset)
      // One that was forgotten has a record still, and no file.
      if (large.get(reference.name) !== reference.bytes) continue
      segment.live++
      segments.addLarge(segment, offset, reference.name, reference.bytes)
      onPut({ ...place, bodyBytes: reference.bytes, large: reference.name }, text)
    }
  }
  if (segment.length < size) segments.cut(segment, segment.length)
}

type Found = { header: Header; buffer: Buffer; at: number }

/**
 * Reads a file from its beginning to its end, record by record, and skips the bodies of objects. What is in memory is told
 * at once: to wait for a promise for every record would take most of the time.
 */
function createWindow(fd: number, size: number) {
  let buffer = Buffer.allocUnsafeSlow(WINDOW_BYTES)
  let start = 0
  let filled = 0

  /** So many bytes must be read from here on. */
  type Missing = { from: number; bytes: number }

  const isMissingBytes = (from: number, bytes: number) => from < start || from + bytes > start + filled

  async function fill({ from, bytes }: Missing) {
    if (bytes > buffer.length) buffer = Buffer.allocUnsafeSlow(bytes)
    start = from
    filled = 0
    const wanted = Math.min(buffer.length, size - from)
    while (filled < bytes) {
      const { bytesRead } = await readFile(fd, buffer, filled, wanted - filled, from + filled)
      if (bytesRead === 0) throw new Error('a file of the cache ended before its end')
      filled += bytesRead
    }
  }

  function look(from: number): Found | Missing | 'torn' | undefined {
    if (from === size) return undefined
    if (size - from < HEADER_BYTES) return 'torn'
    if (isMissingBytes(from, HEADER_BYTES)) return { from, bytes: HEADER_BYTES }
    const header = readHeader(buffer, from - start)
    if (!header) throw new Error(`a file of the cache is damaged at ${from}`)
    if (size - from < header.bytes) return 'torn'
    const bytes = header.kind === 'put' ? HEADER_BYTES + header.textBytes : header.bytes
    return isMissingBytes(from, bytes) ? { from, bytes } : { header, buffer, at: from - start }
  }

  return {
    /** Undefined at the end. */
    record(from: number): Found | 'torn' | undefined | Promise<Found | 'torn' | undefined> {
      const found = look(from)
      return typeof found === 'object' && 'bytes' in found ? fill(found).then(() => this.record(from)) : found
    },
  }
}

const damage = ({ run, number }: { run: string; number: number }, offset: number) =>
  new Error(`${nameOf(run, number)} of the cache is damaged at ${offset}; it is given up, with all that is older`)

const openFile = promisify(open)
const closeFile = promisify(close)
const stat = promisify(fstat)
const readFile = promisify(read)
