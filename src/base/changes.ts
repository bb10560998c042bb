/**
 * Who wants to know when something of an account changes, and what did. Told after the commit, within this process, and
 * never kept: a name says what to read again, and no more.
 */

/** The name of what has changed, as it stands below its account: `apps/shop/environments/…`. */
export type OnChange = (name: string) => void

export function createChanges() {
  const followers = new Map<string, Set<OnChange>>()

  return {
    /** Listeners must not throw: whoever changed something is not to blame. */
    notify(accountId: string, name: string) {
      for (const listener of followers.get(accountId) ?? []) listener(name)
    },

    /** Returns what ends the following. */
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
