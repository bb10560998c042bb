import type { OpenPart } from '../../http/send-part.ts'

/** The position of a record. With `large`, `bodyBytes` is the size of that file. */
export type Place = { segment: number; offset: number; metaBytes: number; bodyBytes: number; large?: string }

export type Disk = {
  /** Copied immediately, written later. Undefined: not kept, because it is too large or because of a disk fault. */
  put(meta: string, body: Buffer): Place | undefined
  /**
   * A text that recovery replays after everything that was put before it. It survives the end of this process once this
   * function returns. If it cannot be written, everything on the disk is invalidated for good instead. False: neither
   * was possible. The error is reported, and the invalidation is retried until it succeeds; until then, another process
   * that opens the folder could still load what this note is about.
   */
  note(text: string): boolean
  /** The body, after its checksum was verified. Undefined when it is gone or damaged. */
  read(place: Place): Promise<Buffer | undefined>
  /** Whether the record was not dropped. Does not read the file. */
  isThere(place: Place): boolean
  /** Undefined: not kept, as for `put`. */
  openLarge(): LargeWriter | undefined
  /**
   * From `start` up to and without `end`. Undefined when it is gone. The caller closes the file, which may be removed meanwhile.
   */
  openLargePart(place: Place, start: number, end: number): OpenPart | undefined
  /** The record will not be read again. A small one still reappears at the next recovery, unless a note excludes it. */
  forget(place: Place): void
  /** On the disk, including what is still being written. */
  bytes(): number
  /** Writes what is pending. */
  close(): Promise<void>
}

export type DiskOptions = {
  /** Created if it does not exist. Nothing else belongs in it. */
  folder: string
  maxBytes: number
  segmentBytes?: number
  /** When it differs from the last one, the disk starts empty. */
  bootId?: string
  /** After a failed write, nothing is kept for this long. */
  pauseMs?: number
  /** Called for the first fault, and for a later one only after a write has succeeded in between. */
  report(error: unknown): void
  /** Both are called for everything that is recovered, in its order, before `openDisk` resolves. */
  onPut(place: Place, meta: string): void
  onNote(text: string): void
}

export type LargeWriter = {
  /**
   * The chunk is not copied, so it must not change afterwards. A promise must be awaited before the next chunk. False:
   * the object is not kept, and further chunks are ignored.
   */
  write(chunk: Buffer): boolean | Promise<boolean>
  /** Undefined: not kept. */
  finish(meta: string): Promise<Place | undefined>
  /** Resolves when the file is removed. The caller does not have to await it. */
  abort(): Promise<void>
}

/** The end of a segment: records after `length` do not count. */
export type SegmentEnd = { run: string; number: number; length: number }

/** The content of the first record of a segment. */
export type SegmentStart = { run: string; number: number; previous?: SegmentEnd | undefined }

export type Segment = {
  run: string
  number: number
  fd: number
  /** The end of the last record that was assigned a place. */
  length: number
  /** By the offset of their record. */
  large: Map<number, { name: string; bytes: number }>
  largeBytes: number
  /** Objects that have not been forgotten. */
  live: number
  /** Reads and writes in progress. */
  users: number
  isGone: boolean
}
