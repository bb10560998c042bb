/**
 * Archives that were received and that no row may refer to: refused after the last byte, replaced by a newer upload, or deleted
 * with their environment. They stay on the disk until the next garbage collection, and count towards the account that sent them
 * until then. The list is in memory only, as every start of the service begins with a collection.
 */
import type { Archives } from '../archives/index.ts'
import type { BuildRetention, SourceArchive } from '../builds/index.ts'
import type { Digest } from '../storage/index.ts'

type Parts = { archives: Pick<Archives, 'has'>; buildRetention: Pick<BuildRetention, 'archives'> }

export function createLingering({ archives, buildRetention }: Parts) {
  const received = new Map<string, Map<Digest, number>>()

  return {
    /** To be called when the archive is on the disk. */
    received(accountId: string, { digest, bytes }: SourceArchive) {
      const mine = received.get(accountId) ?? new Map<Digest, number>()
      received.set(accountId, mine.set(digest, bytes))
    },

    /** Bytes of those that no row refers to; the others are counted with the rows that refer to them. */
    async bytesOf(accountId: string): Promise<number> {
      const mine = received.get(accountId)
      if (!mine) return 0
      const needed = new Set((await buildRetention.archives(accountId)).map(({ key }) => key))
      let sum = 0
      for (const [digest, bytes] of mine) if (!needed.has(digest)) sum += bytes
      return sum
    },

    /** To be called after a collection: removed archives do not count any more. */
    async collected() {
      for (const [accountId, mine] of received) {
        for (const digest of mine.keys()) if (!(await archives.has(digest))) mine.delete(digest)
        if (mine.size === 0) received.delete(accountId)
      }
    },
  }
}

export type Lingering = ReturnType<typeof createLingering>
