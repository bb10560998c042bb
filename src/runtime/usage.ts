/** What the apps of the machine and of each account use, and who has to give back memory. */
import type { Clock } from '../base/index.ts'
import {
  type AwakeApp,
  type AwakeLimits,
  appsToSleep,
  countApps,
  memoryOfEach,
  totalMemoryBytes,
} from './awake-slots.ts'
import { keyOf, type SupervisedDeployment, toAwakeApp, type WithEntry } from './entries.ts'
import { type FrozenLimits, frozenToEnd } from './frozen-apps.ts'
import type { InstanceSpec } from './instance.ts'
import type { Awake } from './instances.ts'

type Parts = {
  clock: Clock
  entries: ReadonlyMap<string, SupervisedDeployment>
  /** Those of an account that have a process, or are about to have one. */
  awakeOf(account: string): (AwakeApp & WithEntry)[]
  awakeLimits: AwakeLimits
  frozenLimits: FrozenLimits
}

export function createUsage({ clock, entries, awakeOf, awakeLimits, frozenLimits }: Parts) {
  return {
    /**
     * Those that have to give back their memory, because the apps of their account use more than the account may, or frozen
     * ones keep more than the machine can spare.
     */
    excess(availableBytes: number): string[] {
      const accounts = [...new Set([...entries.values()].map(({ spec }) => spec.owner.account))]
      const ofAccounts = accounts.flatMap((account) => appsToSleep(awakeOf(account), awakeLimits))
      const frozen = [...entries.values()].flatMap((entry) => {
        const app = toAwakeApp(entry)
        return app.isFrozen ? { ...app, frozenTime: entry.frozenTime } : []
      })
      const ofMachine = frozenToEnd(frozen, frozenLimits, { now: clock.now(), availableBytes })
      return [...new Set([...ofAccounts, ...ofMachine].map(({ entry }) => keyOf(entry.spec)))]
    },

    /** How many apps of an account are awake, and what they use together with those that are frozen. */
    awake(account: string): Awake {
      const awake = awakeOf(account)
      return { apps: countApps(awake), memoryBytes: totalMemoryBytes(awake), environments: memoryOfEach(awake) }
    },

    /** Whether the account has memory for another instance like this one. Frozen apps make way. */
    fits({ deployment, owner: { account } }: InstanceSpec): boolean {
      const first = entries.get(deployment)
      const awake = awakeOf(account).filter(({ isFrozen }) => !isFrozen)
      const used = totalMemoryBytes(awake) + (first ? toAwakeApp(first).memoryBytes : 0)
      return awakeLimits.memoryBytes === 0 || used <= awakeLimits.memoryBytes
    },
  }
}
