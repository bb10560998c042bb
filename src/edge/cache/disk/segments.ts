/**
 * The segments in use, oldest first, and how many bytes they take together with the large files of their records.
 *
 *   open      records are appended to the newest one
 *   full      it is only read
 *   gone      its places are unreadable; the file is removed, and closed when no read or write uses it any more
 *
 * A note concerns records before it, which stand in the same segment or an older one. So segments are dropped from the
 * oldest on, each as a whole, and their files are removed in that order. If the process dies in between, what is left
 * is the newest part of the log, with every note that concerns it.
 */
import { close, ftruncate, openSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './marker.ts'
import type { Place, Segment } from './types.ts'

export type Segments = ReturnType<typeof createSegments>

const NAME = /^(\d{1,15})-([0-9a-f]{16})\.segment$/

type Parts = {
  folder: string
  report(error: unknown): void
  /** A segment cannot be removed. Later ones are not removed before this returns. */
  stuck(error: unknown): void
}

export function createSegments({ folder, report, stuck }: Parts) {
  const kept = new Map<number, Segment>()
  let total = 0
  let lastNumber = 0
  let removing = 0
  let removed = Promise.resolve()

  /** One after the other, in the order of the calls. */
  function remove(name: string, failed = report) {
    removing++
    removed = removed
      .then(() => unlink(join(folder, name)))
      .catch((error) => {
        if (!isMissing(error)) failed(error)
      })
      .finally(() => removing--)
  }

  function drop(segment: Segment) {
    if (segment.isGone) return
    segment.isGone = true
    kept.delete(segment.number)
    total -= segment.length + segment.largeBytes
    remove(nameOf(segment.run, segment.number), stuck)
    for (const { name } of segment.large.values()) remove(name)
    segment.users++
    release(segment)
  }

  function dropLarge(segment: Segment, offset: number) {
    const large = segment.large.get(offset)
    if (!large) return
    segment.large.delete(offset)
    segment.largeBytes -= large.bytes
    total -= large.bytes
    remove(large.name)
  }

  function release(segment: Segment) {
    segment.users--
    if (segment.isGone && segment.users === 0) close(segment.fd, (error) => error && report(error))
  }

  function add(run: string, number: number, flags: 'wx+' | 'r+'): Segment {
    const fd = openSync(join(folder, nameOf(run, number)), flags, 0o600)
    const segment: Segment = {
      run,
      number,
      fd,
      length: 0,
      large: new Map(),
      largeBytes: 0,
      live: 0,
      users: 0,
      isGone: false,
    }
    kept.set(number, segment)
    lastNumber = Math.max(lastNumber, number)
    return segment
  }

  return {
    /** A number is never used twice: the place of a lost object must not become the place of another one. */
    create(run: string): Segment {
      lastNumber++
      return add(run, lastNumber, 'wx+')
    },
    /** A segment of an earlier run. They are taken over in their order. */
    takeOver: (run: string, number: number): Segment => add(run, number, 'r+'),

    grow(segment: Segment, bytes: number) {
      segment.length += bytes
      total += bytes
    },
    addLarge(segment: Segment, offset: number, name: string, bytes: number) {
      segment.large.set(offset, { name, bytes })
      segment.largeBytes += bytes
      total += bytes
    },
    dropLarge,

    /** Nothing from this length on was written, neither in this segment nor in a newer one. */
    cut(segment: Segment, length: number) {
      for (const newer of [...kept.values()].filter(({ number }) => number > segment.number)) drop(newer)
      if (length === 0) return drop(segment)
      for (const offset of [...segment.large.keys()]) if (offset >= length) dropLarge(segment, offset)
      total -= segment.length - length
      segment.length = length
      segment.users++
      // The next segment, or the marker, records how much of this one counts. This only frees the space.
      ftruncate(segment.fd, length, (error) => {
        if (error) report(error)
        release(segment)
      })
    },

    drop,
    /** This one and all older ones. */
    dropUpTo(segment: Segment) {
      for (const older of [...kept.values()]) if (older.number <= segment.number) drop(older)
    },
    dropAll() {
      for (const segment of [...kept.values()]) drop(segment)
    },
    /** A file that belongs to no record. */
    remove: (name: string) => remove(name),

    /** Keeps the file open until `release`, even when the segment is dropped. */
    acquire(segment: Segment) {
      segment.users++
    },
    release,

    find(place: Place): Segment | undefined {
      const segment = kept.get(place.segment)
      if (!segment || place.offset >= segment.length) return undefined
      return place.large === undefined || segment.large.get(place.offset)?.name === place.large ? segment : undefined
    },
    oldest: (): Segment | undefined => kept.values().next().value,
    newest: (): Segment | undefined => [...kept.values()].at(-1),
    /** The names of all files in use. */
    files(): Set<string> {
      const names = new Set<string>()
      for (const { run, number, large } of kept.values()) {
        names.add(nameOf(run, number))
        for (const { name } of large.values()) names.add(name)
      }
      return names
    },
    count: () => kept.size,
    bytes: () => total,
    /** No file is left on the disk, and none is still to be removed. */
    isClean: () => kept.size === 0 && removing === 0,

    /** The files stay. */
    async close() {
      while (removing > 0) await removed
      for (const segment of kept.values()) {
        segment.isGone = true
        segment.users++
        release(segment)
      }
      kept.clear()
    },
  }
}

export const nameOf = (run: string, number: number): string => `${number}-${run}.segment`

export function readName(name: string): { run: string; number: number } | undefined {
  const [, number, run] = NAME.exec(name) ?? []
  return number === undefined || run === undefined ? undefined : { run, number: Number(number) }
}
