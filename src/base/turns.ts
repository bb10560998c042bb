/** Work on one thing happens one at a time, in the order it was asked for; work on different things does not wait. */
export function createTurns() {
  const last = new Map<string, Promise<void>>()

  return function inTurn<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const mine = (last.get(thing) ?? Promise.resolve()).then(work)
    const over = mine.then(forget, forget)
    last.set(thing, over)
    return mine

    function forget() {
      if (last.get(thing) === over) last.delete(thing)
    }
  }
}
