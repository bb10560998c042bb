/**
 * Work with the same key runs one at a time, in the order in which it was requested; work with different keys does not
 * wait.
 */
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
