/**
 * Calls that come while work of the same kind is under way are done together, by work that begins after all of them: nobody
 * gets the result of work that began before they asked, and a thousand calls cost two rounds of it.
 */
export function createBursts<Item, Result>(work: (key: string, items: readonly Item[]) => Promise<Result>) {
  const next = new Map<string, { items: Item[]; result: Promise<Result> }>()
  const current = new Map<string, Promise<unknown>>()

  return {
    join(key: string, item: Item): Promise<Result> {
      const joined = next.get(key)
      if (joined) {
        joined.items.push(item)
        return joined.result
      }
      const items = [item]
      const result = begin(key, items)
      next.set(key, { items, result })
      return result
    },
  }

  async function begin(key: string, items: readonly Item[]): Promise<Result> {
    const before = current.get(key)
    // Whatever arrived in the same turn of the loop comes along.
    await (before ?? new Promise((resolve) => setImmediate(resolve)))
    next.delete(key)
    const mine = work(key, items)
    const over = mine.then(
      () => undefined,
      () => undefined,
    )
    current.set(key, over)
    over.then(() => {
      if (current.get(key) === over) current.delete(key)
    })
    return mine
  }
}
