/**
 * Copies of the caches of environments in an object store, for a machine that has none. A row names the newest copy; it is
 * written after the blob is stored, and a blob without a row is garbage.
 */
import type { Clock } from '../../base/index.ts'
import { type Blobs, collectBlobs, type Digest, type Sql, statement } from '../../storage/index.ts'
import { CACHE_LIMITS } from '../run/caches.ts'
import { type Size, sizeOf } from '../run/untrusted-folder.ts'

type User = { uid: number; gid: number } | undefined

type Parts = {
  sql: Sql
  clock: Clock
  blobs: Blobs
  /** The folder as an archive, with what belongs to the app's user. */
  pack(folder: string, options: { writable: readonly string[]; signal: AbortSignal }): AsyncIterable<Uint8Array>
  unpack(file: string, folder: string, options: { limits: Size; user: User; signal: AbortSignal }): Promise<Size>
}

/** What the build may write; beside it lies a file of the service. */
const WRITABLE = ['store', 'compile']

/** Larger ones are not copied: it would take longer than to make them anew. */
const STORED_LIMITS: Size = { files: 100_000, bytes: 1024 ** 3 }

/** What may come out of an archive at most. */
const UNPACKED_LIMITS: Size = {
  files: CACHE_LIMITS.store.files + CACHE_LIMITS.compile.files,
  bytes: CACHE_LIMITS.store.bytes + CACHE_LIMITS.compile.bytes,
}

/** How often a copy is renewed at most: each build changes few of the files, and a copy contains all of them. */
export const COPY_AFTER_MS = 60 * 60_000

/** Caches of another kind of machine are of no use. */
const MACHINE = `${process.platform}-${process.arch}`

export function createStoredCaches({ sql, clock, blobs, pack, unpack }: Parts) {
  async function find(environmentId: string) {
    const [row] = await sql.query<{ digest: Digest; machine: string; store_time: number }>(
      statement`SELECT digest, machine, store_time FROM stored_caches WHERE environment_id = ${environmentId}`,
    )
    return row?.machine === MACHINE ? { digest: row.digest, storeTime: row.store_time } : undefined
  }

  return {
    isDue: async (environmentId: string): Promise<boolean> => {
      const found = await find(environmentId)
      return found === undefined || clock.now() - found.storeTime >= COPY_AFTER_MS
    },

    /** Copies the caches. Undefined if they are empty or too large. */
    async save(environmentId: string, folder: string, signal: AbortSignal): Promise<Size | undefined> {
      const size = await sizeOf(folder, STORED_LIMITS)
      if (size.files === 0 || size.files > STORED_LIMITS.files || size.bytes > STORED_LIMITS.bytes) return undefined
      const { digest, bytes } = await blobs.put(pack(folder, { writable: WRITABLE, signal }))
      const now = clock.now()
      await sql.transaction((tx) =>
        tx.query(statement`
          INSERT INTO stored_caches (environment_id, digest, bytes, machine, store_time)
          VALUES (${environmentId}, ${digest}, ${bytes}, ${MACHINE}, ${now})
          ON CONFLICT (environment_id)
          DO UPDATE SET digest = ${digest}, bytes = ${bytes}, machine = ${MACHINE}, store_time = ${now}`),
      )
      return size
    },

    /** Into a new folder, which is incomplete if it rejects. Undefined if there is no copy. */
    async restore(
      environmentId: string,
      folder: string,
      { user, signal }: { user: User; signal: AbortSignal },
    ): Promise<Size | undefined> {
      const found = await find(environmentId)
      if (!found) return undefined
      return blobs.withFile(found.digest, (file) => unpack(file, folder, { limits: UNPACKED_LIMITS, user, signal }))
    },

    async forget(environmentId: string) {
      await sql.transaction((tx) =>
        tx.query(statement`DELETE FROM stored_caches WHERE environment_id = ${environmentId}`),
      )
    },

    /** Removes blobs that no row refers to, unless `isHeld`, and returns how many. */
    collect: (isHeld: () => Promise<boolean>, isOver?: () => boolean): Promise<number> =>
      collectBlobs(
        blobs,
        async () => {
          const rows = await sql.query<{ digest: string }>(statement`SELECT digest FROM stored_caches`)
          return (await isHeld()) ? { has: () => true } : new Set(rows.map(({ digest }) => digest))
        },
        isOver,
      ),
  }
}

export type StoredCaches = ReturnType<typeof createStoredCaches>
