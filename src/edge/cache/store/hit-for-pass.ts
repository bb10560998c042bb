/**
 * URLs whose responses could recently not be stored (hit-for-pass). Requests for them do not wait for the fetch of
 * another request, whose response they could not use.
 */
import { createShares } from '../../shares.ts'

const REMEMBERED_MS = 60_000
const MAX_LENGTH = 1024

export function createHitForPass({ now, maxBytes }: { now(): number; maxBytes: number }) {
  const until = createShares<number>(maxBytes)

  return {
    has: (environment: string, key: string): boolean => (until.get(environment, key) ?? 0) > now(),
    add(environment: string, key: string) {
      // A client can send keys of any length: long ones would take more memory than they are worth.
      if (key.length <= MAX_LENGTH) until.set(environment, key, now() + REMEMBERED_MS, 0)
    },
  }
}
