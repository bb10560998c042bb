/** Listeners of one kind of event. `add` returns the function that removes the listener. */
export function createListeners<Event>() {
  const listeners = new Set<(event: Event) => void>()
  return {
    add(listener: (event: Event) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify(event: Event) {
      for (const listener of listeners) listener(event)
    },
  }
}
