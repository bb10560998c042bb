/** Limits concurrent work, in total and per owner; the rest waits in the order in which it came. */
export function createSlots({ max, maxOfOwner, wait }: Slots) {
  const waiting: Waiting[] = []
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

  function untilStarted(owner: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const mine: Waiting = { owner, start: resolve }
      waiting.push(mine)
      startNext()
      if (!wait || !waiting.includes(mine)) return
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(mine), 1)
        reject(wait.error())
      }, wait.maxMs)
      mine.start = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  return async <T>(owner: string, work: () => Promise<T>): Promise<T> => {
    await untilStarted(owner)
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

type Slots = {
  max: number
  maxOfOwner: number
  /** How long work waits at most, and with what it rejects then. */
  wait?: { maxMs: number; error(): Error }
}

type Waiting = { owner: string; start(): void }
