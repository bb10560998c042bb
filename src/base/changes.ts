/**
 * Subscriptions to changes of an account. Listeners are called after the commit, within this process; nothing is
 * stored. The name says what to read again, and nothing else.
 */

/** The name of the changed resource below its account: `apps/shop/environments/…`. Undefined: anything may have changed. */
export type OnChange = (name: string | undefined) => void

export function createChanges() {
  const followers = new Map<string, Set<OnChange>>()

  return {
    /** Listeners must not throw, since the caller that made the change is not responsible for them. */
    notify(accountId: string, name: string) {
      for (const listener of followers.get(accountId) ?? []) listener(name)
    },

    /** Changes may have been missed, in every account. */
    notifyEverything() {
      for (const listeners of followers.values()) for (const listener of listeners) listener(undefined)
    },

    /** Returns the function that unsubscribes. */
    follow(accountId: string, listener: OnChange): () => void {
      const mine = followers.get(accountId) ?? new Set()
      followers.set(accountId, mine.add(listener))
      return () => {
        mine.delete(listener)
        if (mine.size === 0 && followers.get(accountId) === mine) followers.delete(accountId)
      }
    },
  }
}

export type Changes = ReturnType<typeof createChanges>
