/** Garbage collection of blobs, whichever store they are in. */
import type { Blobs, Digest } from './blobs.ts'

/** After this time the row that refers to a blob is written, or there will be none. */
const RECORDED_AFTER_MS = 5 * 60_000

/**
 * Removes blobs that are not needed and returns how many. One that was just put stays: its row may not be written yet. `needed`
 * gets all that there are, and may tell of these alone. `isOver`: another process may be at it from now on, so no more are removed.
 */
export async function collectBlobs(
  blobs: Blobs,
  needed: (there: readonly Digest[]) => Promise<Pick<ReadonlySet<string>, 'has'>>,
  isOver: () => boolean = () => false,
): Promise<number> {
  await blobs.sweep()
  const there = await blobs.list()
  const putSince = Date.now() - RECORDED_AFTER_MS
  const kept = await needed(there)
  let count = 0
  for (const digest of there) {
    if (isOver()) break
    if (!kept.has(digest) && (await blobs.remove(digest, { putSince }))) count += 1
  }
  return count
}
