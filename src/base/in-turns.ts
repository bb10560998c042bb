/** Work on lists whose length somebody else chooses: after so many items everybody else in the process gets a turn. */
import { setImmediate as turn } from 'node:timers/promises'

const AT_A_TIME = 1000

/** Hands out the items of a list, with a turn for others now and then. */
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

/** As `toSorted` does it: stable, and by the order of code units unless another is given. */
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
