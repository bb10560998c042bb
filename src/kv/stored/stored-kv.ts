/**
 * Values in rows and an object store, so that every process of the service and the next machine have the same ones. The blob of
 * a value is stored first, then one transaction writes its row and removes what does not fit any more, then the blobs of those
 * go. A blob without a row is garbage; a row whose blob is lost is a value that is lost. The order of use is known to the minute.
 */
import type { Clock, Log } from '../../base/index.ts'
import { type Blobs, type Digest, type Reader, type Sql, StorageUnavailable } from '../../storage/index.ts'
import { bytesOfFile, bytesOnDisk } from '../file.ts'
import {
  type AdmitGrowth,
  DEFAULT_KV_LIMITS,
  type Growth,
  type Kv,
  NOTE_USE_AFTER_MS,
  nameOf,
  quotaExceeded,
  type ValueLimits,
} from '../kv.ts'
import { createBodies } from './bodies.ts'
import { createValueMoves, type FileValue } from './moves.ts'
import { createValueRows, type ValueAt, type ValueRow, type Write } from './rows.ts'
import { createTogether } from './together.ts'

export type StoredKvParts = {
  sql: Sql
  clock: Clock
  log: Log
  blobs: Blobs
  limits?: ValueLimits
  admitGrowth?: AdmitGrowth
  /** Whether an environment exists. */
  exists(reader: Reader, environmentId: string): Promise<boolean>
  /** Where values were files before, and which environments may have some. */
  folders: { values(environmentId: string): string; ids(): Promise<readonly string[]> }
  /** Whether a backup may be copying files. */
  isHeld(): Promise<boolean>
}

const NOTHING: Growth = { bytes: 0, files: 0 }

export function createStoredKv(parts: StoredKvParts) {
  const { sql, clock, log, blobs, folders, isHeld, exists } = parts
  const { limits = DEFAULT_KV_LIMITS, admitGrowth = async () => true } = parts
  const { totalBytes } = limits
  const rows = createValueRows({ sql, exists })
  const bodies = createBodies({ blobs, log })
  const together = createTogether(sql)
  const moves = createValueMoves({ clock, log, folderOf: folders.values, ids: folders.ids, isHeld, keep: keepFile })

  /** Stores the bytes and writes the row. What is not needed then is removed. */
  async function write(value: Uint8Array, wanted: Omit<Write, 'body' | 'bytes'>) {
    const body = await bodies.keep(wanted.environmentId, value)
    // If this rejects, it may have been committed nevertheless: the blob is left to the garbage collection.
    const written = await together((tx) => rows.write(tx, { ...wanted, body, bytes: bytesOf(value) }))
    const unneeded = written.isDone ? written.gone : body.digest ? [body.digest] : []
    await bodies.discard(unneeded, { mayWait: body.digest !== null })
    return written
  }

  /** Whether a value may make the store grow, with the growth that was counted. Decided before anything is written. */
  async function admit(wanted: ValueAt & { bytes: number }): Promise<{ max: number | undefined; growth: Growth }> {
    for (const max of [totalBytes, undefined]) {
      const growth = await rows.growthFor({ ...wanted, max })
      const mayBe = max !== undefined || growth.bytes <= 0
      if (mayBe && (await admitGrowth(wanted.environmentId, growth))) return { max, growth }
    }
    throw quotaExceeded()
  }

  /** Another process may have changed the store since, or nothing was written. The next measurement includes it in any case. */
  async function correct(environmentId: string, counted: Growth, actual: Growth) {
    const growth = { bytes: actual.bytes - counted.bytes, files: actual.files - counted.files }
    if (growth.bytes !== 0 || growth.files !== 0) await admitGrowth(environmentId, growth).catch(unlessAway)
  }

  async function keepFile({ environmentId, name, value, time }: FileValue): Promise<boolean> {
    const known = await rows.factsOf({ environmentId, name })
    if (known && known.storeTime >= time) return true
    const times = { storeTime: time, useTime: time, isUnlessNewer: true }
    const written = await write(value, { environmentId, name, max: totalBytes, ...times })
    return written.isDone || written.why !== 'absent'
  }

  async function noteUse(at: ValueAt, { useTime }: ValueRow) {
    const now = clock.now()
    if (now - useTime < NOTE_USE_AFTER_MS) return
    // A value that can be read is returned, even where nothing can be written.
    await together((tx) => rows.noteUse(tx, at, now)).catch(unlessAway)
  }

  const kv: Kv = {
    async bytesOf(environmentId, key) {
      const at = { environmentId, name: nameOf(key) }
      await moves.moveOne(at)
      return (await rows.factsOf(at))?.bytes
    },

    async get(environmentId, key) {
      const at = { environmentId, name: nameOf(key) }
      await moves.moveOne(at)
      let missing: Digest | undefined
      for (;;) {
        const row = await rows.find(at)
        if (!row) return undefined
        const value = await bodies.read(environmentId, row)
        if (value) {
          await noteUse(at, row)
          return value
        }
        // It was replaced after the row was read, or is lost: a second look shows which.
        const { digest } = row
        if (digest !== null && digest === missing) {
          await together((tx) => rows.forget(tx, at, digest))
          return undefined
        }
        missing = digest ?? undefined
      }
    },

    async put(environmentId, key, value) {
      const at = { environmentId, name: nameOf(key) }
      const { max, growth } = await admit({ ...at, bytes: bytesOf(value) })
      let actual = NOTHING
      try {
        const now = clock.now()
        const written = await write(value, { ...at, max, storeTime: now, useTime: now })
        if (written.isDone) {
          actual = written.growth
          await moves.removeReplaced(at)
        }
        // Where its environment was deleted meanwhile, its values are, too.
        else if (written.why === 'full') throw quotaExceeded()
      } finally {
        await correct(environmentId, growth, actual)
      }
    },
  }

  return {
    ...kv,
    /** What all values of an environment take. */
    sizeOf: rows.sizeOf,
    /** Removes blobs that no row refers to, unless a backup is made, and returns how many. `isOver`: no more are removed. */
    collect: (isOver?: () => boolean): Promise<number> =>
      bodies.collect(async (there) => {
        const used = await rows.digestsIn(there)
        return (await isHeld()) ? { has: () => true } : used
      }, isOver),
    /** Begins to move values that were files before. */
    start: moves.start,
    stop: moves.stop,
    /** Resolves when nothing is being removed. */
    settled: bodies.settled,
  }
}

export type StoredKv = ReturnType<typeof createStoredKv>

/** As a file would take, so that the limits are the same. */
const bytesOf = (value: Uint8Array): number => bytesOnDisk(bytesOfFile(value))

function unlessAway(error: unknown) {
  if (!(error instanceof StorageUnavailable)) throw error
}
