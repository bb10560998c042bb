/**
 * What is on its way to the segments. Records are copied into a batch; a batch is written by one asynchronous write, and
 * only one is in flight at a time, in order. So what a killed process leaves is a beginning of what it appended.
 *
 *   filling     records are added, until it is full or was begun a while ago
 *   waiting     those before it are written first
 *   in flight   a thread writes it; its bytes must not change
 *   written     its buffer is used again
 *
 * `flush` writes all of them before it returns. What is in flight is written a second time: the same bytes at the same
 * place, so it does not matter which of the two comes first or whether the other fails, and nothing is left open before
 * the end of what `flush` wrote.
 */
import { write, writeSync } from 'node:fs'
import { HEADER_BYTES, type Kind, writeRecord } from './records.ts'
import type { Segment, Segments } from './segments.ts'

type Batch = {
  segment: Segment
  /** Where it begins in the file. */
  position: number
  buffer: Buffer
  used: number
  /** Nobody cares any more for how its write ends. */
  isSettled: boolean
}

type Parts = {
  segments: Segments
  /** A write failed: nothing is in this segment from this length on, and nothing of what was appended later is anywhere. */
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
    segments.hold(segment)
    // Nobody waits for it: an ending process flushes by `idle`, and a killed one loses it in any case.
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
      // A segment that went meanwhile needs no bytes.
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

  /** Everything that is pending has no future here: it is on the disk already, or must not get there. */
  function settle() {
    end()
    if (inFlight) inFlight.isSettled = true
    for (const batch of waiting.splice(0)) giveBack(batch)
  }

  return {
    /** Returns the offset of the record. */
    append(segment: Segment, kind: Kind, text: string, textBytes: number, body?: Buffer): number {
      const bytes = HEADER_BYTES + textBytes + (body?.length ?? 0)
      if (filling && (filling.segment !== segment || filling.used + bytes > filling.buffer.length)) send()
      filling ??= begin(segment, bytes)
      const offset = segment.length
      writeRecord(filling.buffer, filling.used, kind, text, textBytes, body)
      filling.used += bytes
      pendingBytes += bytes
      segments.grow(segment, bytes)
      if (filling.used >= BATCH_BYTES) send()
      return offset
    },

    /** A copy of what stands there, if it is not written yet. */
    find(segment: Segment, offset: number, bytes: number): Buffer | undefined {
      for (const batch of [inFlight, ...waiting, filling]) {
        if (batch?.segment !== segment || batch.isSettled) continue
        const at = offset - batch.position
        if (at >= 0 && at + bytes <= batch.used) return Buffer.from(batch.buffer.subarray(at, at + bytes))
      }
      return undefined
    },

    /** Everything is with the kernel when it returns; throws when that cannot be. */
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
    /** Resolves when nothing is on its way any more. */
    idle(): Promise<void> {
      return new Promise((resolve) => {
        whenIdle.push(resolve)
        send()
      })
    },
  }
}
