/**
 * Addresses whose responses were for one reader alone a moment ago. Whoever wants one of them is not made to wait for
 * somebody else's response, only to learn that it is not for him.
 */
import { createShares } from '../../shares.ts'

const REMEMBERED_MS = 60_000
const MAX_LENGTH = 1024

export function createHitForPass({ now, maxBytes }: { now(): number; maxBytes: number }) {
  const until = createShares<number>(maxBytes)

  return {
    has: (environment: string, key: string): boolean => (until.get(environment, key) ?? 0) > now(),
    add(environment: string, key: string) {
      // Anybody can make long ones: they would take more memory than they are worth.
      if (key.length <= MAX_LENGTH) until.set(environment, key, now() + REMEMBERED_MS, 0)
    },
  }
}
