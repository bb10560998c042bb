/**
 * Merges calls: those that come while work for the same key is under way share one run of the work, which begins after all of
 * them. So no caller gets the result of work that began before the call, and a burst of a thousand calls costs two runs.
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
    // Calls that arrive in the same turn of the event loop are included.
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
