/** Limits concurrent work, in total and per owner; the rest waits in the order in which it came. */
export function createSlots({ max, maxOfOwner }: { max: number; maxOfOwner: number }) {
  const waiting: { owner: string; start(): void }[] = []
  const running = new Map<string, number>()
  let total = 0

  const count = (owner: string): number => running.get(owner) ?? 0

  function startNext() {
    while (total < max) {
      const at = waiting.findIndex(({ owner }) => count(owner) < maxOfOwner)
      const [next] = at < 0 ? [] : waiting.splice(at, 1)
      if (!next) return
      total++
      running.set(next.owner, count(next.owner) + 1)
      next.start()
    }
  }

  return async <T>(owner: string, work: () => Promise<T>): Promise<T> => {
    await new Promise<void>((resolve) => {
      waiting.push({ owner, start: resolve })
      startNext()
    })
    try {
      return await work()
    } finally {
      total--
      if (count(owner) > 1) running.set(owner, count(owner) - 1)
      else running.delete(owner)
      startNext()
    }
  }
}
