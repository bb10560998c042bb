/**
 * Work on lists whose length a client or a tenant chooses: after a number of items, the event loop handles other work.
 */
import { setImmediate as turn } from 'node:timers/promises'

const AT_A_TIME = 1000

/** Yields the items of a list in batches, with a turn of the event loop after each. */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T[]> {
  let some: T[] = []
  for (const item of items) {
    if (some.push(item) < AT_A_TIME) continue
    yield some
    some = []
    await turn()
  }
  yield some
}

/** Sorts as `toSorted` does: stable, by the code units of the keys. */
export async function sortInTurns<T>(items: readonly T[], keyOf: (item: T) => string): Promise<T[]> {
  let runs: T[][] = []
  for await (const some of inTurns(items)) runs.push(some.sort((a, b) => compare(keyOf(a), keyOf(b))))
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], keyOf))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<T>(one: readonly T[], other: readonly T[], keyOf: (item: T) => string): Promise<T[]> {
  const merged: T[] = []
  let [left, right] = [0, 0]
  while (left < one.length && right < other.length) {
    if (merged.length % AT_A_TIME === AT_A_TIME - 1) await turn()
    const [a, b] = [one[left] as T, other[right] as T]
    if (compare(keyOf(a), keyOf(b)) <= 0) {
      merged.push(a)
      left += 1
    } else {
      merged.push(b)
      right += 1
    }
  }
  return merged.concat(one.slice(left), other.slice(right))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
