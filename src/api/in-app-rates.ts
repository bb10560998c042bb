/**
 * How much one environment may ask of the service from inside, so that an app that runs wild slows nobody but itself. Asked
 * before any work is done for the call. Counts are in memory: a restart gives everybody a fresh start.
 */
import type { TokenUse } from '../apps/index.ts'
import { type Clock, createBuckets, type Rate } from '../base/index.ts'
import { Problem } from '../contract/index.ts'

export type Rates = {
  calls: Record<TokenUse, Rate>
  /** Of what is sent or stored. What has to be parsed costs the service far more than what is handed on. */
  bytes: Record<TokenUse, Rate>
  /** Bytes of calls that are under way, which are in memory: of one environment and of all. */
  heldBytes: { environment: number; all: number }
}

const MIB = 1024 * 1024

export const IN_APP_RATES: Rates = {
  calls: {
    'apps-api': { atOnce: 600, perSecond: 10 },
    'kv-store': { atOnce: 2000, perSecond: 200 },
  },
  bytes: {
    'apps-api': { atOnce: 4 * MIB, perSecond: MIB / 4 },
    'kv-store': { atOnce: 64 * MIB, perSecond: 16 * MIB },
  },
  heldBytes: { environment: 16 * MIB, all: 128 * MIB },
}

export function createRates({ clock, rates = IN_APP_RATES }: { clock: Clock; rates?: Rates }) {
  const calls = createBuckets(clock)
  const bytes = createBuckets(clock)
  const held = new Map<string, number>()
  let heldByAll = 0

  return {
    /** Pays for one call. Throws if there were too many. */
    call(environmentId: string, use: TokenUse) {
      refuse(calls.take(`${use} ${environmentId}`, 1, rates.calls[use]))
    },

    /** Pays for bytes, and holds them until what it returns is called. Throws if there were too many. */
    hold(environmentId: string, use: TokenUse, count: number): () => void {
      const before = held.get(environmentId) ?? 0
      const { environment, all } = rates.heldBytes
      if (before + count > environment || heldByAll + count > all) refuse(1000)
      refuse(bytes.take(`${use} ${environmentId}`, count, rates.bytes[use]))
      held.set(environmentId, before + count)
      heldByAll += count
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        const left = (held.get(environmentId) ?? 0) - count
        if (left > 0) held.set(environmentId, left)
        else held.delete(environmentId)
        heldByAll -= count
      }
    },
  }
}

export type InAppRates = ReturnType<typeof createRates>

function refuse(waitMs: number) {
  if (waitMs > 0) throw new Problem('TOO_MANY_CALLS', undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
}
