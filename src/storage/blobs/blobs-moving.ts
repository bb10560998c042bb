/**
 * Blobs that were on the disk before the service had an object store. They are read where they are, and every sweep moves
 * those that are left. New ones go to the store at once.
 */
import type { Blobs } from './blobs.ts'

export function createMovingBlobs(from: Blobs, to: Blobs): Blobs {
  return {
    put: to.put,
    lend: to.lend,
    async has(digest) {
      return (await from.has(digest)) || (await to.has(digest))
    },
    async open(digest) {
      return await ((await from.has(digest)) ? from : to).open(digest)
    },
    async withFile(digest, use) {
      return await ((await from.has(digest)) ? from : to).withFile(digest, use)
    },
    async list() {
      return [...new Set([...(await from.list()), ...(await to.list())])]
    },
    async remove(digest, unless) {
      const isGone = await from.remove(digest, unless)
      return (await to.remove(digest, unless)) && isGone
    },
    async sweep() {
      await from.sweep()
      await to.sweep()
      for (const digest of await from.list()) {
        const stored = await to.put(await from.open(digest))
        // One that is damaged on the disk stays there: its bytes have another name.
        if (stored.digest === digest) await from.remove(digest)
        else await to.remove(stored.digest)
      }
    },
  }
}
