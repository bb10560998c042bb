/**
 * Appends records to the newest segment and drops the oldest segments to stay within the bound.
 *
 *   keeping    objects are appended
 *   paused     a write failed: objects are not kept for a while; notes are still written
 *   not ours   objects are not kept, and a note invalidates everything (see `ownership`)
 *
 * One guarantee has priority: an object that a note has removed never comes back. Every error path loses objects rather
 * than a note, and a note that cannot be written invalidates everything on the disk.
 */
import { createBatches } from './batches.ts'
import { createHealth } from './health.ts'
import { writeLargeReference } from './large.ts'
import { createOwnership } from './ownership.ts'
import { HEADER_BYTES, MAX_TEXT_BYTES, type NewRecord } from './records.ts'
import { createSegments, type Segments } from './segments.ts'
import type { Place, Segment, SegmentEnd, SegmentStart } from './types.ts'

const MIB = 1024 * 1024
const SEGMENT_BYTES = 32 * MIB
/** Each segment keeps a file open. Every run begins a segment of its own, so there can be many small ones. */
const MAX_SEGMENTS = 1024
/** Bytes that wait in memory for a slow disk; beyond them, objects are not kept. */
const MAX_PENDING_BYTES = 8 * MIB
/** More than the record that begins a segment. */
const START_BYTES = 512

type Parts = {
  folder: string
  boot: string
  maxBytes: number
  segmentBytes?: number | undefined
  pauseMs: number
  report(error: unknown): void
}

export function createLog({ folder, boot, maxBytes, segmentBytes: wanted, pauseMs, report }: Parts) {
  const segmentBytes = segmentBytesFor(maxBytes, wanted)
  const maxRecordBytes = Math.min(segmentBytes - START_BYTES, MAX_PENDING_BYTES / 2)
  const health = createHealth({ pauseMs, report })
  const ownership = createOwnership({ folder, boot, pauseMs, notify: health.notify })
  const segments = createSegments({ folder, report: health.notify, stuck })
  const batches = createBatches({ segments, failed, wrote: health.succeed })
  let active: Segment | undefined
  /** In large files that have no record yet. */
  let growingBytes = 0

  function failed(error: unknown, segment: Segment, length: number) {
    batches.drop()
    segments.cut(segment, length)
    active = undefined
    health.fail(error)
  }

  /**
   * A segment that cannot be removed would become the newest once all newer ones are gone, and with them their notes.
   */
  function stuck(error: unknown) {
    health.notify(error)
    invalidate()
  }

  const isKeeping = (): boolean => ownership.isOurs() && !health.isPaused()

  /** Drops old segments. Returns whether so many more bytes fit within the bound afterwards. */
  function evict(bytes: number): boolean {
    while (segments.bytes() + growingBytes + bytes > maxBytes) {
      const oldest = segments.oldest()
      if (!oldest) return false
      if (oldest === active) active = undefined
      segments.drop(oldest)
    }
    return true
  }

  function begin(): Segment {
    const run = ownership.currentRun(segments.dropAll)
    dropOldestWhile(segments, () => segments.count() >= MAX_SEGMENTS)
    const previous = endOf(segments.newest())
    const segment = segments.create(run)
    const start: SegmentStart = { run, number: segment.number, previous }
    const text = JSON.stringify(start)
    batches.append(segment, { kind: 'start', text, textBytes: Buffer.byteLength(text) })
    return segment
  }

  function append(record: NewRecord): Place {
    const { textBytes, body } = record
    const bytes = HEADER_BYTES + textBytes + (body?.length ?? 0)
    // Large files count like bodies. Otherwise the records of one segment could refer to the whole folder.
    if (active && active.length + active.largeBytes + bytes > segmentBytes) active = undefined
    active ??= begin()
    const offset = batches.append(active, record)
    return { segment: active.number, offset, metaBytes: textBytes, bodyBytes: body?.length ?? 0 }
  }

  function keep(kind: 'put' | 'large', meta: string, body: Buffer): Place | undefined {
    if (!isKeeping()) return undefined
    const metaBytes = Buffer.byteLength(meta)
    const bytes = HEADER_BYTES + metaBytes + body.length
    if (metaBytes > MAX_TEXT_BYTES || bytes > maxRecordBytes) return undefined
    if (batches.pendingBytes() + bytes > MAX_PENDING_BYTES || !evict(bytes + START_BYTES)) return undefined
    try {
      const place = append({ kind, text: meta, textBytes: metaBytes, body })
      if (active) active.live++
      return place
    } catch (error) {
      health.fail(error)
      return undefined
    }
  }

  /** Forgets everything on the disk. False when the marker, and with it everything else, may still be there. */
  function invalidate(): boolean {
    batches.drop()
    active = undefined
    const isDone = ownership.revoke(invalidate)
    segments.dropAll()
    health.pause()
    return isDone
  }

  return {
    segments,
    batches,
    health,
    ownership,
    isKeeping,
    evict,
    invalidate,

    claim: () => ownership.claim(endOf(segments.newest())),

    put: (meta: string, body: Buffer): Place | undefined => keep('put', meta, body),

    putLarge(meta: string, name: string, bytes: number): Place | undefined {
      const place = keep('large', meta, writeLargeReference(name, bytes))
      if (!place || !active) return undefined
      growingBytes -= bytes
      segments.addLarge(active, place.offset, name, bytes)
      return { ...place, bodyBytes: bytes, large: name }
    },

    /** A large file that has no record yet grows, or, with a negative number, is given up. */
    growLarge(bytes: number) {
      growingBytes += bytes
    },

    /** `isNeeded` is false when no object is being written that it could concern. */
    note(text: string, isNeeded: boolean): boolean {
      if (!ownership.isOurs()) return invalidate()
      if (segments.isClean() && !isNeeded) return true
      try {
        const textBytes = Buffer.byteLength(text)
        if (textBytes > MAX_TEXT_BYTES) throw new Error(`a note of ${textBytes} bytes is too long for the cache's disk`)
        evict(HEADER_BYTES + textBytes + START_BYTES)
        append({ kind: 'note', text, textBytes })
        batches.flush()
        return true
      } catch (error) {
        health.notify(error)
        return invalidate()
      }
    },

    /** Only from the oldest on: a newer segment may have notes about an older one. */
    dropUnused: () => dropOldestWhile(segments, (oldest) => oldest !== active && oldest.live <= 0),

    bytes: () => segments.bytes() + growingBytes,

    async close() {
      await batches.idle()
      try {
        // Records that were appended meanwhile.
        batches.flush()
      } catch (error) {
        health.notify(error)
      }
      ownership.close()
      await segments.close()
    },
  }
}

export type Log = ReturnType<typeof createLog>

function segmentBytesFor(maxBytes: number, wanted: number | undefined): number {
  const usual = Math.max(Math.min(SEGMENT_BYTES, maxBytes / 16), (maxBytes * 2) / MAX_SEGMENTS)
  return Math.min(wanted ?? usual, maxBytes / 2)
}

function dropOldestWhile(segments: Segments, isUnneeded: (oldest: Segment) => boolean) {
  for (let oldest = segments.oldest(); oldest && isUnneeded(oldest); oldest = segments.oldest()) segments.drop(oldest)
}

const endOf = (segment: Segment | undefined): SegmentEnd | undefined =>
  segment && { run: segment.run, number: segment.number, length: segment.length }
