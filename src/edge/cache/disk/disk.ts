/**
 * The story of the disk: what was left is replayed, what comes is appended, what is too much is dropped from the oldest on.
 *
 *   keeping    puts are appended
 *   paused     a write failed: puts are not kept for a while; notes are tried all the same
 *   doubtful   a note could not be written, and the marker could not be removed: that is tried until it succeeds
 *   off        another process took the folder over, or it was closed; notes still take the marker away
 *
 * One promise stands above all: what a note took away never comes back. Every way out of trouble loses objects rather
 * than a note, and a note that cannot be written makes the disk forget everything.
 *
 * The folder has no lock. An edge that is dying may still write while the next one opens it; the newer wins: it replaces
 * the marker and appends only to segments of its own, so what the older one does from then on is in no chain.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, read } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { createBatches } from './batches.ts'
import type { Disk, DiskOptions, Place } from './index.ts'
import { createLargeWriter, isLargeName, type LargeWriter, readRange, writeLargeReference } from './large.ts'
import { createMarker, currentBoot, isMissing, isUnfinishedMarker } from './marker.ts'
import { HEADER_BYTES, type Kind, MAX_TEXT_BYTES, readBody, readHeader } from './records.ts'
import { replay, type Start } from './replay.ts'
import { createSegments, readName, type Segment } from './segments.ts'

const MIB = 1024 * 1024
const SEGMENT_BYTES = 32 * MIB
/** Each segment has a file open. Every run begins one of its own, so there can be many that are small. */
const MAX_SEGMENTS = 1024
/** So much waits for a slow disk in memory; what comes then is not kept. */
const MAX_PENDING_BYTES = 8 * MIB
const PAUSE_MS = 10_000
/** More than the record that begins a segment. */
const START_BYTES = 512

export async function openDisk(options: DiskOptions): Promise<Disk> {
  const { folder, maxBytes, pauseMs = PAUSE_MS } = options
  const segmentBytes = Math.min(
    options.segmentBytes ?? Math.max(Math.min(SEGMENT_BYTES, maxBytes / 16), (maxBytes * 2) / MAX_SEGMENTS),
    maxBytes / 2,
  )
  const maxRecordBytes = Math.min(segmentBytes - START_BYTES, MAX_PENDING_BYTES / 2)
  const maxLargeBytes = maxBytes / 4
  const marker = createMarker({ folder, boot: options.bootId ?? currentBoot() })
  const segments = createSegments({ folder, report: notify, stuck })
  const batches = createBatches({ segments, failed, wrote })
  const writers = new Set<LargeWriter>()
  const forgotten = new WeakSet<Place>()
  let run = newRun()
  let active: Segment | undefined
  /** The marker names our run. */
  let isMarked = false
  let isDoubtful = false
  let retry: NodeJS.Timeout | undefined
  let isOff = false
  let pausedUntil = 0
  let hasTrouble = false
  /** In large files that have no record yet. */
  let growingBytes = 0

  function notify(error: unknown) {
    if (hasTrouble) return
    hasTrouble = true
    options.report(error)
  }

  function pause(error: unknown) {
    pausedUntil = performance.now() + pauseMs
    notify(error)
  }

  function failed(error: unknown, segment: Segment, length: number) {
    batches.drop()
    segments.cut(segment, length)
    active = undefined
    pause(error)
  }

  function wrote() {
    hasTrouble = false
  }

  /** What cannot be removed would be the newest once all that is newer is gone, without their notes. */
  function stuck(error: unknown) {
    notify(error)
    forgetEverything()
  }

  function isKeeping(): boolean {
    if (isOff || isDoubtful) return false
    if (pausedUntil === 0) return true
    if (performance.now() < pausedUntil) return false
    pausedUntil = 0
    return true
  }

  /** Whether so many bytes more are within the bound, after dropping what is old. */
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
    const owner = isMarked ? marker.whose(run) : 'nobody'
    if (owner === 'another') {
      isOff = true
      throw new Error(`another process has taken over ${folder}`)
    }
    if (owner === 'nobody') {
      // Somebody has emptied the folder, or we have forgotten everything.
      segments.dropAll()
      isMarked = false
      run = newRun()
      makeFolder(folder)
      marker.write(run, undefined)
      isMarked = true
    }
    for (let oldest = segments.oldest(); oldest && segments.count() >= MAX_SEGMENTS; oldest = segments.oldest()) {
      segments.drop(oldest)
    }
    const previous = endOf(segments.newest())
    const segment = segments.create(run)
    const start: Start = { run, number: segment.number, previous }
    const text = JSON.stringify(start)
    batches.append(segment, 'start', text, Buffer.byteLength(text))
    return segment
  }

  function append(kind: Kind, text: string, textBytes: number, body?: Buffer): Place {
    const bytes = HEADER_BYTES + textBytes + (body?.length ?? 0)
    // Large files weigh as much as bodies do, or a few records could hold the whole folder.
    if (active && active.length + active.largeBytes + bytes > segmentBytes) active = undefined
    active ??= begin()
    const offset = batches.append(active, kind, text, textBytes, body)
    return { segment: active.number, offset, metaBytes: textBytes, bodyBytes: body?.length ?? 0 }
  }

  function keep(kind: 'put' | 'large', meta: string, body: Buffer): Place | undefined {
    if (!isKeeping()) return undefined
    const metaBytes = Buffer.byteLength(meta)
    const bytes = HEADER_BYTES + metaBytes + body.length
    if (metaBytes > MAX_TEXT_BYTES || bytes > maxRecordBytes) return undefined
    if (batches.pendingBytes() + bytes > MAX_PENDING_BYTES || !evict(bytes + START_BYTES)) return undefined
    try {
      const place = append(kind, meta, metaBytes, body)
      if (active) active.live++
      return place
    } catch (error) {
      pause(error)
      return undefined
    }
  }

  function keepLarge(meta: string, name: string, bytes: number): Place | undefined {
    const place = keep('large', meta, writeLargeReference(name, bytes))
    if (!place || !active) return undefined
    growingBytes -= bytes
    segments.addLarge(active, place.offset, name, bytes)
    return { ...place, bodyBytes: bytes, large: name }
  }

  function forgetEverything(): boolean {
    batches.drop()
    active = undefined
    isMarked = false
    try {
      marker.remove()
      isDoubtful = false
    } catch (error) {
      isDoubtful = true
      retry ??= setTimeout(() => {
        retry = undefined
        if (isDoubtful) forgetEverything()
      }, pauseMs).unref()
      notify(error)
    }
    segments.dropAll()
    pausedUntil = performance.now() + pauseMs
    return !isDoubtful
  }

  async function recover() {
    makeFolder(folder)
    const names = await readdir(folder)
    const known = marker.read()
    const large = new Map<string, number>()
    if (known) {
      for (const name of names.filter(isLargeName)) large.set(name, await sizeOf(join(folder, name)))
      const ofRun = names.flatMap((name) => readName(name) ?? []).filter((named) => named.run === known.run)
      const { onPut, onNote, report } = options
      const numbers = ofRun.map(({ number }) => number)
      await replay({ folder, segments, large, onPut, onNote, report }, known.run, known.end, numbers)
    }
    marker.write(run, endOf(segments.newest()))
    isMarked = true
    const used = segments.files()
    for (const name of names) {
      if (!used.has(name) && (readName(name) || isLargeName(name) || isUnfinishedMarker(name))) segments.remove(name)
    }
    evict(0)
  }

  await recover().catch((error) => {
    notify(error)
    forgetEverything()
  })

  return {
    put: (meta, body) => keep('put', meta, body),

    note(text) {
      if (isOff || isDoubtful) return forgetEverything()
      // There is nothing that it could concern, nor will there be.
      if (segments.isClean() && writers.size === 0) return true
      try {
        const textBytes = Buffer.byteLength(text)
        if (textBytes > MAX_TEXT_BYTES) throw new Error(`a note of ${textBytes} bytes is too long for the cache's disk`)
        evict(HEADER_BYTES + textBytes + START_BYTES)
        append('note', text, textBytes)
        batches.flush()
        return true
      } catch (error) {
        notify(error)
        return forgetEverything()
      }
    },

    async read(place) {
      const segment = segments.find(place)
      if (!segment) return undefined
      const bytes = HEADER_BYTES + place.metaBytes + place.bodyBytes
      segments.hold(segment)
      try {
        if (place.large !== undefined) {
          const stream = readRange(folder, place.large, 0, place.bodyBytes)
          return stream && (await buffer(stream))
        }
        const record = batches.find(segment, place.offset, bytes) ?? (await readWhole(segment.fd, place.offset, bytes))
        const header = record && readHeader(record, 0)
        const body = header?.bytes === bytes ? readBody(record, 0, header) : undefined
        if (!body) throw new Error(`segment ${place.segment} of the cache is damaged at ${place.offset}`)
        return body
      } catch (error) {
        notify(error)
        return undefined
      } finally {
        segments.release(segment)
      }
    },

    isThere: (place) => segments.find(place) !== undefined,

    openLarge() {
      if (!isKeeping()) return undefined
      let written = 0
      const writer = createLargeWriter({
        folder,
        mayGrow(bytes) {
          if (!isKeeping() || written + bytes > maxLargeBytes || !evict(bytes)) return false
          written += bytes
          growingBytes += bytes
          return true
        },
        keep(meta, name, bytes) {
          writers.delete(writer)
          return keepLarge(meta, name, bytes)
        },
        discard(name, bytes) {
          writers.delete(writer)
          growingBytes -= bytes
          segments.remove(name)
        },
        failed: pause,
      })
      writers.add(writer)
      return writer
    },

    readLarge(place, start, end) {
      if (!(0 <= start && start <= end && end <= place.bodyBytes)) throw new RangeError(`no range: ${start} to ${end}`)
      if (place.large === undefined || !segments.find(place)) return undefined
      try {
        return readRange(folder, place.large, start, end)
      } catch (error) {
        notify(error)
        return undefined
      }
    },

    forget(place) {
      const segment = segments.find(place)
      if (!segment || forgotten.has(place)) return
      forgotten.add(place)
      segment.live--
      segments.dropLarge(segment, place.offset)
      // Of what nobody asks for, the oldest can go. A newer one may have notes about an older one.
      for (
        let oldest = segments.oldest();
        oldest && oldest !== active && oldest.live <= 0;
        oldest = segments.oldest()
      ) {
        segments.drop(oldest)
      }
    },

    bytes: () => segments.bytes() + growingBytes,

    async close() {
      await Promise.all([...writers].map((writer) => writer.abort()))
      await batches.idle()
      try {
        // What came meanwhile.
        batches.flush()
      } catch (error) {
        notify(error)
      }
      isOff = true
      clearTimeout(retry)
      await segments.close()
    },
  }
}

function makeFolder(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // One that was there already may have been open to others.
  chmodSync(folder, 0o700)
}

/** Another process that is on its way out may remove it meanwhile. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (error) => {
      if (!isMissing(error)) throw error
      return -1
    },
  )
}

const newRun = (): string => randomBytes(8).toString('hex')

const endOf = (segment: Segment | undefined) =>
  segment && { run: segment.run, number: segment.number, length: segment.length }

async function readWhole(fd: number, offset: number, bytes: number): Promise<Buffer> {
  const record = Buffer.allocUnsafeSlow(bytes)
  const { bytesRead } = await readFile(fd, record, 0, bytes, offset)
  return record.subarray(0, bytesRead)
}

const readFile = promisify(read)
