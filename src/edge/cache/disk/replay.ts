/**
 * Replays what an earlier run left, in its order. Every segment begins with a record that names the segment before it
 * and how much of that one counts. So the log is a chain from its newest segment back, and a segment outside of the
 * chain is ignored.
 *
 * The newest segment may end in the middle of a record, because its process was killed. Any other fault is damage, and
 * may have destroyed a note. A note concerns earlier records, so the damaged segment is dropped together with all older
 * ones.
 */
import { close, fstat, open, read } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readLargeReference } from './large.ts'
import { isMissing } from './marker.ts'
import { HEADER_BYTES, type Header, readBody, readHeader, readText } from './records.ts'
import { nameOf, type Segments } from './segments.ts'
import type { Place, Segment, SegmentEnd, SegmentStart } from './types.ts'

type Link = SegmentStart & { length: number | undefined }

type Parts = {
  folder: string
  segments: Segments
  /** The large files in the folder, and their sizes. */
  large: ReadonlyMap<string, number>
  onPut(place: Place, meta: string): void
  onNote(text: string): void
  report(error: unknown): void
}

/**
 * Small records are read many at a time, and a body that is longer than this is not read at all. Reading only the
 * headers takes seven times as long for records of 10 KiB, because each read wakes a thread.
 */
const WINDOW_BYTES = 256 * 1024

/** `run` and `end` are those of the marker; `numbers` are the segments of that run. */
export async function replay(parts: Parts, run: string, end: SegmentEnd | undefined, numbers: readonly number[]) {
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
async function chain({ folder, report }: Parts, run: string, end: SegmentEnd | undefined, numbers: readonly number[]) {
  const links: Link[] = []
  try {
    let next = end
    for (const number of numbers.toSorted((one, other) => other - one)) {
      // A segment that was just begun may not contain its first record yet.
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
    // The oldest segment names one that was dropped: this is how every chain ends once segments were dropped.
    if (!isMissing(error)) report(error)
  }
  return links.reverse()
}

async function readStart(
  folder: string,
  { run, number }: { run: string; number: number },
): Promise<SegmentStart | 'torn'> {
  const fd = await openFile(join(folder, nameOf(run, number)), 'r')
  try {
    const window = createWindow(fd, (await stat(fd)).size)
    const found = await window.record(0)
    if (found === 'torn' || found === undefined) return 'torn'
    const text = readText(found.buffer, found.at, found.header)
    const start: SegmentStart | undefined =
      found.header.kind === 'start' && text !== undefined ? JSON.parse(text) : undefined
    if (start?.run !== run || start.number !== number) throw damage({ run, number }, 0)
    if (start.previous && start.previous.number >= number) throw damage({ run, number }, 0)
    return start
  } finally {
    await closeFile(fd)
  }
}

/** Without a length it is the newest segment, which counts up to its last complete record. */
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
      // An object that was forgotten still has a record, but no file.
      if (large.get(reference.name) !== reference.bytes) continue
      segment.live++
      segments.addLarge(segment, offset, reference.name, reference.bytes)
      onPut({ ...place, bodyBytes: reference.bytes, large: reference.name }, text)
    }
  }
  if (segment.length < size) segments.cut(segment, segment.length)
}

type RecordInWindow = { header: Header; buffer: Buffer; at: number }

/**
 * Reads a file from its beginning to its end, record by record, and skips the bodies of objects. A record that is
 * already in memory is returned without a promise: awaiting one for every record would take most of the time.
 */
function createWindow(fd: number, size: number) {
  let buffer = Buffer.allocUnsafeSlow(WINDOW_BYTES)
  let start = 0
  let filled = 0

  /** Bytes that must be read first. */
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

  function look(from: number): RecordInWindow | Missing | 'torn' | undefined {
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
    record(from: number): RecordInWindow | 'torn' | undefined | Promise<RecordInWindow | 'torn' | undefined> {
      const found = look(from)
      return typeof found === 'object' && 'bytes' in found ? fill(found).then(() => this.record(from)) : found
    },
  }
}

const damage = ({ run, number }: { run: string; number: number }, offset: number) =>
  new Error(`${nameOf(run, number)} of the cache is damaged at ${offset}; it is discarded, with all older ones`)

const openFile = promisify(open)
const closeFile = promisify(close)
const stat = promisify(fstat)
const readFile = promisify(read)
