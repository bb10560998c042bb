/**
 * How much one environment, and all of one account together, may ask of the service, so that a faulty app slows only
 * itself, and an account with many apps slows no other account. Checked before any work is done for the call. Counts
 * are in memory: a restart resets them.
 */
import type { TokenUse } from '../../apps/index.ts'
import { type Clock, createBuckets, type Rate, type Sharers } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'

export type Rates = {
  calls: Record<TokenUse, Rate>
  /**
   * Bytes that are sent or stored. Bytes that must be parsed cost the service far more than bytes that are only stored.
   */
  bytes: Record<TokenUse, Rate>
  /** Bytes of current calls, which are in memory: of one environment, of one account and of all. */
  heldBytes: { environment: number; account: number; all: number }
  /** The limits of an account, as a multiple of those of one environment, however many environments it has. */
  accountShare: number
}

/** The caller's environment and account. */
export type Caller = { environmentId: string; accountId: string }

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
  heldBytes: { environment: 16 * MIB, account: 32 * MIB, all: 128 * MIB },
  accountShare: 4,
}

type Parts = {
  clock: Clock
  rates?: Rates
  /** Control processes, which are called by turns. */
  sharers?: Sharers
}

export function createRates({ clock, rates = IN_APP_RATES, sharers }: Parts) {
  const calls = createBuckets(clock, sharers)
  const bytes = createBuckets(clock, sharers)
  const held = createHeld()

  const ofAccount = ({ atOnce, perSecond }: Rate): Rate => ({
    atOnce: rates.accountShare * atOnce,
    perSecond: rates.accountShare * perSecond,
  })

  return {
    /** Counts one call of an environment, before anything is known of it. Throws if there were too many. */
    call(environmentId: string, use: TokenUse) {
      refuse(calls.take(`${use} ${environmentId}`, 1, rates.calls[use]))
    },

    /** Counts one call of its account. Throws if there were too many. */
    callOfAccount(accountId: string, use: TokenUse) {
      refuse(calls.take(`${use} account ${accountId}`, 1, ofAccount(rates.calls[use])))
    },

    /** Counts bytes as in memory until the returned function is called. Throws if there were too many. */
    hold({ environmentId, accountId }: Caller, use: TokenUse, count: number): () => void {
      const { environment, account, all } = rates.heldBytes
      const holders: [name: string, max: number][] = [
        [`environment ${environmentId}`, environment],
        [`account ${accountId}`, account],
        ['all', all],
      ]
      if (holders.some(([name, max]) => held.of(name) + count > max)) refuse(1000)
      refuse(bytes.take(`${use} ${environmentId}`, count, rates.bytes[use]))
      refuse(bytes.take(`${use} account ${accountId}`, count, ofAccount(rates.bytes[use])))
      for (const [name] of holders) held.add(name, count)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        for (const [name] of holders) held.add(name, -count)
      }
    },
  }
}

function createHeld() {
  const bytes = new Map<string, number>()
  return {
    of: (name: string): number => bytes.get(name) ?? 0,
    add(name: string, count: number) {
      const now = (bytes.get(name) ?? 0) + count
      if (now > 0) bytes.set(name, now)
      else bytes.delete(name)
    },
  }
}

export type InAppRates = ReturnType<typeof createRates>

function refuse(waitMs: number) {
  if (waitMs > 0) throw new Problem('TOO_MANY_CALLS', undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
}
