/** Opens the disk of the cache: replays what an earlier run left, and then reads and writes objects. */
import { closeSync, read } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createLargeWriter, isLargeName, openPart } from './large.ts'
import { createLog, type Log } from './log.ts'
import { currentBoot, isMissing, isUnfinishedMarker } from './marker.ts'
import { makeFolder } from './ownership.ts'
import { HEADER_BYTES, readBody, readHeader } from './records.ts'
import { replay } from './replay.ts'
import { readName } from './segments.ts'
import type { Disk, DiskOptions, LargeWriter, Place, Segment } from './types.ts'

const PAUSE_MS = 10_000

export async function openDisk(options: DiskOptions): Promise<Disk> {
  const { folder, maxBytes, segmentBytes, pauseMs = PAUSE_MS, report } = options
  const log = createLog({ folder, boot: options.bootId ?? currentBoot(), maxBytes, segmentBytes, pauseMs, report })
  const { segments, health } = log
  const maxLargeBytes = maxBytes / 4
  const writers = new Set<LargeWriter>()
  const forgotten = new WeakSet<Place>()

  await recover(log, options).catch((error) => {
    health.notify(error)
    log.invalidate()
  })

  return {
    put: log.put,
    note: (text) => log.note(text, writers.size > 0),

    async read(place) {
      const segment = segments.find(place)
      if (!segment) return undefined
      segments.acquire(segment)
      try {
        return await readObject(log, folder, segment, place)
      } catch (error) {
        health.notify(error)
        return undefined
      } finally {
        segments.release(segment)
      }
    },

    isThere: (place) => segments.find(place) !== undefined,

    openLarge() {
      if (!log.isKeeping()) return undefined
      let written = 0
      const writer = createLargeWriter({
        folder,
        mayGrow(bytes) {
          if (!log.isKeeping() || written + bytes > maxLargeBytes || !log.evict(bytes)) return false
          written += bytes
          log.growLarge(bytes)
          return true
        },
        keep(meta, name, bytes) {
          writers.delete(writer)
          return log.putLarge(meta, name, bytes)
        },
        discard(name, bytes) {
          writers.delete(writer)
          log.growLarge(-bytes)
          segments.remove(name)
        },
        failed: health.fail,
      })
      writers.add(writer)
      return writer
    },

    openLargePart(place, start, end) {
      if (!(0 <= start && start <= end && end <= place.bodyBytes)) throw new RangeError(`no range: ${start} to ${end}`)
      if (place.large === undefined || !segments.find(place)) return undefined
      try {
        return openPart(folder, place.large, start, end)
      } catch (error) {
        health.notify(error)
        return undefined
      }
    },

    forget(place) {
      const segment = segments.find(place)
      if (!segment || forgotten.has(place)) return
      forgotten.add(place)
      segment.live--
      segments.dropLarge(segment, place.offset)
      log.dropUnused()
    },

    bytes: log.bytes,

    async close() {
      await Promise.all([...writers].map((writer) => writer.abort()))
      await log.close()
    },
  }
}

async function recover({ ownership, segments, claim, evict }: Log, { folder, onPut, onNote, report }: DiskOptions) {
  makeFolder(folder)
  const names = await readdir(folder)
  const known = ownership.previous()
  const large = new Map<string, number>()
  if (known) {
    for (const name of names.filter(isLargeName)) large.set(name, await sizeOf(join(folder, name)))
    const ofRun = names.flatMap((name) => readName(name) ?? []).filter((named) => named.run === known.run)
    const numbers = ofRun.map(({ number }) => number)
    await replay({ folder, segments, large, onPut, onNote, report }, known.run, known.end, numbers)
  }
  claim()
  const used = segments.files()
  for (const name of names) {
    if (!used.has(name) && (readName(name) || isLargeName(name) || isUnfinishedMarker(name))) segments.remove(name)
  }
  evict(0)
}

/** Undefined when its large file is gone. Throws when it is damaged. */
async function readObject({ batches }: Log, folder: string, segment: Segment, place: Place) {
  if (place.large !== undefined) {
    const part = openPart(folder, place.large, 0, place.bodyBytes)
    return part && (await readWhole(part.descriptor, 0, place.bodyBytes).finally(() => closeSync(part.descriptor)))
  }
  const bytes = HEADER_BYTES + place.metaBytes + place.bodyBytes
  const record = batches.find(segment, place.offset, bytes) ?? (await readWhole(segment.fd, place.offset, bytes))
  const header = record && readHeader(record, 0)
  const body = header?.bytes === bytes ? readBody(record, 0, header) : undefined
  if (!body) throw new Error(`segment ${place.segment} of the cache is damaged at ${place.offset}`)
  return body
}

/** -1 when another process that is shutting down has removed the file meanwhile. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (error) => {
      if (!isMissing(error)) throw error
      return -1
    },
  )
}

async function readWhole(fd: number, offset: number, bytes: number): Promise<Buffer> {
  const record = Buffer.allocUnsafeSlow(bytes)
  const { bytesRead } = await readFile(fd, record, 0, bytes, offset)
  return record.subarray(0, bytesRead)
}

const readFile = promisify(read)
