/**
 * The bytes of values: small ones in their row, others as blobs. A blob begins with random bytes, so no two writes make the same
 * one: what a write replaces belongs to no other row and can be removed at once, and no environment shares a blob with another.
 */
import { readFile } from 'node:fs/promises'
import { createSlots, type Log, randomToken } from '../../base/index.ts'
import { BlobNotFound, type Blobs, collectBlobs, type Digest, StorageUnavailable } from '../../storage/index.ts'

/** Exactly one of the two. */
export type Body = { digest: Digest; body: null } | { digest: null; body: string }

/** Larger ones would make transactions long. */
export const INLINE_BYTES = 2048

const newHead = (): Buffer => Buffer.from(`${randomToken()}\n`)
const HEAD_BYTES = newHead().length

/** One value is in memory several times on its way, and archives need the store, too. */
const WRITES = { max: 8, maxOfOwner: 4 }
const READS = { max: 16, maxOfOwner: 8 }
const wait = { maxMs: 5000, error: () => new StorageUnavailable('the object store is too slow for what apps keep') }

/** At once. While there are more, those who write blobs wait, so that what is to be removed does not grow without bound. */
const MAX_REMOVALS = 4
/** For more than these no write waits: where many small values go for a large one, the garbage collection removes the rest. */
const MAX_AWAITED = 8

export function createBodies({ blobs, log }: { blobs: Blobs; log: Log }) {
  const removals = new Set<Promise<unknown>>()
  const [inWriteSlot, inReadSlot] = [createSlots({ ...WRITES, wait }), createSlots({ ...READS, wait })]

  function startRemoval(digest: Digest) {
    const removal = blobs
      .remove(digest)
      .catch((error) => {
        // While the store is away it stays, and the next garbage collection removes it.
        if (!(error instanceof StorageUnavailable)) log.error({ err: error }, 'a replaced value could not be removed')
      })
      .finally(() => removals.delete(removal))
    removals.add(removal)
  }

  return {
    /** What is not for the row is on stable storage when it resolves. */
    async keep(environmentId: string, value: Uint8Array): Promise<Body> {
      if (value.byteLength <= INLINE_BYTES) return { digest: null, body: Buffer.from(value).toString('base64') }
      const { digest } = await inWriteSlot(environmentId, () => blobs.put(pieces(newHead(), value)))
      return { digest, body: null }
    },

    /** Undefined if the store does not have it any more. */
    async read(environmentId: string, { digest, body }: Body): Promise<Buffer | undefined> {
      if (digest === null) return Buffer.from(body, 'base64')
      const reading = () => blobs.withFile(digest, (file) => readFile(file)).catch(unlessMissing)
      const content = await inReadSlot(environmentId, reading)
      return content?.subarray(HEAD_BYTES)
    },

    /**
     * Removes what no row refers to any more, after it has resolved. Where much is being removed already, it waits or, unless
     * `mayWait`, leaves it to the garbage collection.
     */
    async discard(digests: readonly Digest[], { mayWait }: { mayWait: boolean }) {
      for (const [at, digest] of digests.entries()) {
        while (mayWait && at < MAX_AWAITED && removals.size >= MAX_REMOVALS) await Promise.race(removals)
        if (removals.size < MAX_REMOVALS) startRemoval(digest)
      }
    },

    /** Resolves when nothing is being removed. */
    async settled() {
      while (removals.size > 0) await Promise.all(removals)
    },

    /** Removes what is left over from processes that died and stores that were away. `used`: those that a row refers to. */
    collect: (
      used: (digests: readonly Digest[]) => Promise<Pick<ReadonlySet<string>, 'has'>>,
      isOver?: () => boolean,
    ): Promise<number> => collectBlobs(blobs, used, isOver),
  }
}

async function* pieces(...all: Uint8Array[]) {
  yield* all
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof BlobNotFound)) throw error
}
