/**
 * Addresses whose responses were for one reader alone a moment ago. Whoever wants one of them is not made to wait for
 * somebody else's response, only to learn that it is not for him.
 */

const REMEMBERED_MS = 60_000
const LENGTH_MOST = 1024

export function createPasses({ now, most }: { now(): number; most: number }) {
  const until = new Map<string, number>()

  return {
    has(key: string): boolean {
      const time = until.get(key)
      if (time === undefined) return false
      if (time > now()) return true
      until.delete(key)
      return false
    },
    add(key: string) {
      // Anybody can make long ones: they would take more memory than they are worth.
      if (key.length > LENGTH_MOST) return
      until.delete(key)
      until.set(key, now() + REMEMBERED_MS)
      for (const oldest of until.keys()) {
        if (until.size <= most) return
        until.delete(oldest)
      }
    },
  }
}
