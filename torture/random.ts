/**
 * Pseudo-random numbers, the same for the same seed. Every actor has a stream of its own, by its name, so that its
 * decisions do not depend on the speed of the others.
 */

export type Random = {
  /** From 0 up to, and without, 1. */
  next(): number
  /** A whole number from 0 up to, and without, the given one. */
  below(count: number): number
  between(min: number, max: number): number
  pick<T>(items: readonly T[]): T
  /** A key, with a probability by its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K
}

export function createRandom(seed: number, name: string): Random {
  let state = hashOf(`${seed} ${name}`)

  /** mulberry32: 32 bits of state, and good enough to choose what to break. */
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)

  return {
    next,
    below,
    between: (min, max) => min + below(max - min + 1),
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
    weighted<K extends string>(weights: Readonly<Record<K, number>>) {
      const entries = Object.entries<number>(weights) as [K, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [key, weight] of entries) {
        left -= weight
        if (left < 0) return key
      }
      throw new Error('there is nothing to choose from')
    },
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash | 0
}
