/**
 * The disk behind the edge's memory: a log of objects and notes in segments, and files for what is too large for it. It
 * outlives the process, not the machine's boot, and is bounded. It never brings back what a note has taken away.
 */
import type { Readable } from 'node:stream'
import type { LargeWriter } from './large.ts'

export { openDisk } from './disk.ts'
export type { LargeWriter } from './large.ts'

/** Where a record stands. With `large`, `bodyBytes` is the size of that file. */
export type Place = { segment: number; offset: number; metaBytes: number; bodyBytes: number; large?: string }

export type Disk = {
  /** Copied at once, written soon. Undefined: not kept, because it is too large or the disk is in trouble. */
  put(meta: string, body: Buffer): Place | undefined
  /**
   * A text that is told at recovery after everything that was put before it. It outlives this process from the moment it
   * returns; if it cannot, everything on the disk is forgotten instead, for good. False: not even that was possible. It
   * was reported and is tried again until it is; until then another process could find what this note is about.
   */
  note(text: string): boolean
  /** The body, checked. Undefined when it is gone or damaged. */
  read(place: Place): Promise<Buffer | undefined>
  /** Cheap: nobody dropped it. */
  isThere(place: Place): boolean
  /** Undefined: not kept, as for `put`. */
  openLarge(): LargeWriter | undefined
  /** From `start` up to and without `end`. Undefined when it is gone. What is not read to its end must be destroyed. */
  readLarge(place: Place, start: number, end: number): Readable | undefined
  /** Nobody will ask for it. A small one comes back at the next recovery all the same, unless a note says otherwise. */
  forget(place: Place): void
  /** On the disk, with what is on its way there. */
  bytes(): number
  /** Writes what is pending. */
  close(): Promise<void>
}

export type DiskOptions = {
  /** Created if it is not there. Nothing else belongs in it. */
  folder: string
  maxBytes: number
  segmentBytes?: number
  /** Another one than last time: start empty. */
  bootId?: string
  /** After a failed write nothing is kept for this long. */
  pauseMs?: number
  /** The first fault; the next one only after the disk was well again. */
  report(error: unknown): void
  /** For everything that is found, in its order, before `openDisk` resolves. */
  onPut(place: Place, meta: string): void
  onNote(text: string): void
}
