/**
 * Which of the apps that sleep keep their memory, frozen, so that the next visitor does not wait for a start. What they keep
 * together is limited for the machine; above that the ones that were unvisited for longest are ended, and wake by a start.
 */

/** `memoryBytes`: of all of them together; 0 where none is frozen. `ageMs`: how long one stays frozen. */
export type FrozenLimits = { memoryBytes: number; ageMs: number }

export const NO_FROZEN_APPS: FrozenLimits = { memoryBytes: 0, ageMs: 0 }

export type FrozenApp = { memoryBytes: number; visitTime: number; frozenTime: number }

/** Left free for visitors that wake other apps, and for builds. */
const RESERVE_BYTES = 1024 ** 3

/** Those that have to end. `availableBytes`: what the machine can still give to programs. */
export function frozenToEnd<T extends FrozenApp>(
  frozen: readonly T[],
  limits: FrozenLimits,
  { now, availableBytes }: { now: number; availableBytes: number },
): T[] {
  const [old, others] = [[] as T[], [] as T[]]
  for (const app of frozen) (now - app.frozenTime >= limits.ageMs ? old : others).push(app)
  let kept = others.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  let available = availableBytes + old.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  const ending = [...old]
  for (const app of others.toSorted((a, b) => a.visitTime - b.visitTime)) {
    if (kept <= limits.memoryBytes && available >= RESERVE_BYTES) break
    ending.push(app)
    kept -= app.memoryBytes
    available += app.memoryBytes
  }
  return ending
}
