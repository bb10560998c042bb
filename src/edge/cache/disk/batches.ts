/**
 * Records that are not yet written to the segments. They are copied into a batch; a batch is written by one
 * asynchronous write, and only one is in flight at a time, in order. So a killed process leaves a prefix of what it
 * appended.
 *
 *   filling     records are added, until it is full or BATCH_MS after it was begun
 *   waiting     earlier batches are written first
 *   in flight   a thread writes it; its bytes must not change
 *   written     its buffer is reused
 *
 * `flush` writes all of them before it returns. The batch in flight is written a second time: the same bytes at the
 * same position, so it does not matter which of the two writes comes first or whether the other fails, and there is no
 * gap before the end of what `flush` wrote.
 */
import { write, writeSync } from 'node:fs'
import { HEADER_BYTES, type NewRecord, writeRecord } from './records.ts'
import type { Segments } from './segments.ts'
import type { Segment } from './types.ts'

type Batch = {
  segment: Segment
  /** Where it begins in the file. */
  position: number
  buffer: Buffer
  used: number
  /** The result of its write is ignored. */
  isSettled: boolean
}

type Parts = {
  segments: Segments
  /** A write failed: the segment ends at this length, and nothing that was appended later was written. */
  failed(error: unknown, segment: Segment, length: number): void
  /** A write succeeded. */
  wrote(): void
}

const BATCH_BYTES = 256 * 1024
const BATCH_MS = 50
const MAX_SPARES = 4

export function createBatches({ segments, failed, wrote }: Parts) {
  const waiting: Batch[] = []
  const spares: Buffer[] = []
  let filling: Batch | undefined
  let inFlight: Batch | undefined
  let pendingBytes = 0
  let timer: NodeJS.Timeout | undefined
  const whenIdle: (() => void)[] = []

  function begin(segment: Segment, bytes: number): Batch {
    const buffer =
      bytes > BATCH_BYTES ? Buffer.allocUnsafeSlow(bytes) : (spares.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES))
    segments.acquire(segment)
    // It must not keep the process alive: `idle` flushes before an orderly exit, and a killed process loses it anyway.
    timer = setTimeout(send, BATCH_MS).unref()
    return { segment, position: segment.length, buffer, used: 0, isSettled: false }
  }

  function end() {
    if (!filling) return
    clearTimeout(timer)
    waiting.push(filling)
    filling = undefined
  }

  function send() {
    end()
    writeNext()
  }

  function writeNext() {
    while (!inFlight) {
      const batch = waiting.shift()
      if (!batch) {
        for (const resolve of whenIdle.splice(0)) resolve()
        return
      }
      // The segment was dropped meanwhile.
      if (batch.segment.isGone) giveBack(batch)
      else writeFrom(batch, 0)
    }
  }

  function writeFrom(batch: Batch, done: number) {
    inFlight = batch
    const { segment, buffer, position, used } = batch
    write(segment.fd, buffer, done, used - done, position + done, (error, written) => {
      if (!error && !batch.isSettled && done + written < used) return writeFrom(batch, done + written)
      const isLost = error && !batch.isSettled && !segment.isGone
      inFlight = undefined
      giveBack(batch)
      if (isLost) failed(error, segment, position)
      else if (!error) wrote()
      writeNext()
    })
  }

  function giveBack({ segment, buffer, used }: Batch) {
    pendingBytes -= used
    segments.release(segment)
    if (buffer.length === BATCH_BYTES && spares.length < MAX_SPARES) spares.push(buffer)
  }

  /** Discards all pending batches: they are on the disk already, or must not get there. */
  function settle() {
    end()
    if (inFlight) inFlight.isSettled = true
    for (const batch of waiting.splice(0)) giveBack(batch)
  }

  return {
    /** Returns the offset of the record. */
    append(segment: Segment, record: NewRecord): number {
      const bytes = HEADER_BYTES + record.textBytes + (record.body?.length ?? 0)
      if (filling && (filling.segment !== segment || filling.used + bytes > filling.buffer.length)) send()
      filling ??= begin(segment, bytes)
      const offset = segment.length
      writeRecord(filling.buffer, filling.used, record)
      filling.used += bytes
      pendingBytes += bytes
      segments.grow(segment, bytes)
      if (filling.used >= BATCH_BYTES) send()
      return offset
    },

    /** A copy of the bytes at this place, if they are not written yet. */
    find(segment: Segment, offset: number, bytes: number): Buffer | undefined {
      for (const batch of [inFlight, ...waiting, filling]) {
        if (batch?.segment !== segment || batch.isSettled) continue
        const at = offset - batch.position
        if (at >= 0 && at + bytes <= batch.used) return Buffer.from(batch.buffer.subarray(at, at + bytes))
      }
      return undefined
    },

    /** When it returns, the kernel has everything. Throws when a write fails. */
    flush() {
      end()
      for (const batch of inFlight ? [inFlight, ...waiting] : waiting) {
        const { segment, buffer, position, used, isSettled } = batch
        if (isSettled || segment.isGone) continue
        for (let done = 0; done < used; ) done += writeSync(segment.fd, buffer, done, used - done, position + done)
      }
      settle()
      wrote()
    },

    drop: settle,
    pendingBytes: () => pendingBytes,
    /** Resolves when no write is pending or in flight. */
    idle(): Promise<void> {
      return new Promise((resolve) => {
        whenIdle.push(resolve)
        send()
      })
    },
  }
}
