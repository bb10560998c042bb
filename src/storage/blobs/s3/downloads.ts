/** Gets blobs from the store into the copies on the disk, with their digests checked. */
import { BlobNotFound, checkDigest, type Digest } from '../blobs.ts'
import { writeDraft } from '../drafts.ts'
import type { Borrowed, Cache } from './cache.ts'
import { ObjectDamaged, ObjectStoreFault } from './faults.ts'
import type { Objects } from './objects.ts'

type Parts = {
  objects: Objects
  cache: Cache
  /** For how long a download is begun again while the store is away. */
  withinMs: number
  nameOf(digest: Digest): string
}

export function createDownloads({ objects, cache, withinMs, nameOf }: Parts) {
  const fetches = new Map<Digest, Promise<void>>()
  /** What must be written anew when it is put. */
  const damaged = new Set<Digest>()

  /** All who want a blob at the same time wait for one download. */
  function fetchToCache(digest: Digest): Promise<void> {
    const running = fetches.get(digest)
    if (running) return running
    const fetching = download(objects, cache, { digest, name: nameOf(digest), withinMs })
      .catch((error) => {
        if (error instanceof ObjectDamaged) damaged.add(digest)
        throw error
      })
      .finally(() => fetches.delete(digest))
    fetches.set(digest, fetching)
    return fetching
  }

  async function borrow(digest: Digest): Promise<Borrowed> {
    checkDigest(digest)
    for (;;) {
      const borrowed = await cache.borrow(digest)
      if (borrowed) return borrowed
      await fetchToCache(digest)
    }
  }

  return { borrow, damaged }
}

type Wanted = { digest: Digest; name: string; withinMs: number }

/** Into the cache, with its digest checked. Bytes that are wrong are fetched once more: they may have changed on the way. */
async function download(objects: Objects, cache: Cache, wanted: Wanted) {
  const { digest, name } = wanted
  for (const isLast of [false, true]) {
    const draft = cache.draft()
    try {
      const found = await writeDraft(draft, bytesOf(objects, wanted), { sync: false })
      if (found.digest === digest) return await cache.add(draft, digest, found.bytes)
      if (isLast) throw new ObjectDamaged(name)
    } finally {
      await cache.discard(draft)
    }
  }
}

const FRUITLESS_ATTEMPTS = 5

/** Goes on where a connection broke, and gives up where several in a row brought nothing. */
async function* bytesOf(objects: Objects, { digest, name, withinMs }: Wanted): AsyncGenerator<Buffer> {
  let [bytes, fruitless] = [0, 0]
  for (;;) {
    const answer = await objects.get(name, { from: bytes, withinMs })
    if (!answer) throw new BlobNotFound(digest)
    const before = bytes
    // A store that does not know ranges begins again.
    let surplus = bytes - answer.from
    try {
      for await (const piece of answer.bytes) {
        const fresh = piece.subarray(surplus)
        surplus -= piece.length - fresh.length
        bytes += fresh.length
        yield fresh
      }
      return
    } catch (error) {
      fruitless = bytes > before ? 0 : fruitless + 1
      if (!(error instanceof ObjectStoreFault && error.isPassing) || fruitless >= FRUITLESS_ATTEMPTS) throw error
    }
  }
}
