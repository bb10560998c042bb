/** What the process that writes to the cache's disk and the test that checks the disk afterwards have in common. */

/** The same numbers for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The body that belongs to a key: of any size up to 30 KiB, some up to 300 KiB. */
export function bodyOf(key: number): Buffer {
  const next = random(key)
  const max = next() < 0.1 ? 300_000 : 30_000
  return Buffer.alloc(Math.floor(next() * max), `${key} `)
}
