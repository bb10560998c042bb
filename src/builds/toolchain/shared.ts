/** Work that several callers share: done once, and aborted when the last waiting caller has left. */

/** The signal of a caller that never aborts. */
export const NEVER = new AbortController().signal

type Running<T> = { result: Promise<T>; waiting: number; abandon: AbortController }

export function createShared<T>() {
  const running = new Map<string, Running<T>>()

  function start(key: string, work: (signal: AbortSignal) => Promise<T>): Running<T> {
    const abandon = new AbortController()
    const begun: Running<T> = { result: work(abandon.signal), waiting: 0, abandon }
    running.set(key, begun)
    const forget = () => {
      if (running.get(key) === begun) running.delete(key)
    }
    begun.result.then(forget, forget)
    return begun
  }

  return {
    /** Rejects as soon as the signal is aborted; for the last waiting caller, once the work has ended. */
    async join(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      signal.throwIfAborted()
      const joined = running.get(key) ?? start(key, work)
      joined.waiting += 1
      const left = Promise.withResolvers<'left'>()
      const leave = () => left.resolve('left')
      signal.addEventListener('abort', leave)
      try {
        const first = await Promise.race([joined.result.then((result) => ({ result })), left.promise])
        if (first !== 'left') return first.result
        if (joined.waiting === 1) {
          // A caller that comes now starts new work.
          if (running.get(key) === joined) running.delete(key)
          joined.abandon.abort(signal.reason)
          await joined.result.catch(() => undefined)
        }
        throw signal.reason
      } finally {
        joined.waiting -= 1
        signal.removeEventListener('abort', leave)
      }
    },
  }
}
