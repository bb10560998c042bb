/**
 * Which apps that fall asleep or were retired have no request in flight any more. Each process whose edges have some counts
 * `busy` up, each second. The leader counts time on its own clock: an app is done when `busy` has not changed for a while since
 * the leader first saw it, and in any case after the longest time that requests get. The next leader begins to count anew.
 */
const SETTLE_MS = 3000
const MAX_MS = 30_000

type Drain = { since: number; busy: number; changedAt: number }

export function createDrains(now: () => number = () => performance.now()) {
  const drains = new Map<string, Drain>()

  return {
    /** By deployment, of those that are kept. Returns which are done. */
    look(busyOnes: ReadonlyMap<string, number>): string[] {
      for (const deployment of drains.keys()) if (!busyOnes.has(deployment)) drains.delete(deployment)
      const time = now()
      const done: string[] = []
      for (const [deployment, busy] of busyOnes) {
        const known = drains.get(deployment) ?? { since: time, busy, changedAt: time }
        drains.set(deployment, known)
        if (known.busy !== busy) Object.assign(known, { busy, changedAt: time })
        if (time - known.changedAt >= SETTLE_MS || time - known.since >= MAX_MS) done.push(deployment)
      }
      return done
    },
  }
}
