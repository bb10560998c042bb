/**
 * Counts what many owners take of a shared resource: there is a limit per owner and a total limit. A small amount is
 * reserved for every owner, so that no number of greedy owners leaves another one with nothing.
 */

type Bounds = {
  max: number
  maxPerOwner: number
  /** What every owner gets even when the total limit is reached. */
  reserved: number
}

export function createQuota({ max, maxPerOwner, reserved }: Bounds) {
  const taken = new Map<string, number>()
  let total = 0

  return {
    /** Whether it was available. What was taken must be given back. */
    take(owner: string, amount = 1): boolean {
      const own = (taken.get(owner) ?? 0) + amount
      if (own > maxPerOwner || (own > reserved && total + amount > max)) return false
      taken.set(owner, own)
      total += amount
      return true
    },

    giveBack(owner: string, amount = 1) {
      const left = (taken.get(owner) ?? 0) - amount
      if (left > 0) taken.set(owner, left)
      else taken.delete(owner)
      total -= amount
    },

    of: (owner: string): number => taken.get(owner) ?? 0,
  }
}

export type Quota = ReturnType<typeof createQuota>
