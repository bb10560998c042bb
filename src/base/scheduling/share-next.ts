/** Calls while the work is done share the next one, which begins after them. */
export function shareNext<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined
  return () => {
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = undefined
        const mine = work()
        current = mine
        return mine
      })
    return next
  }
}
