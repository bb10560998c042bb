/** How much an account uses of everything that is limited by number, beside the limits. */
import type { Accounts, Credentials } from '../accounts/index.ts'
import type { Apps, Domains, Environments } from '../apps/index.ts'
import { CEILING_KINDS, CEILING_SETTINGS, type CeilingKind, type Ceilings, type resources } from '../contract/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Instances } from '../runtime/index.ts'

type Parts = {
  accounts: Pick<Accounts, 'list'>
  credentials: Pick<Credentials, 'count'>
  apps: Pick<Apps, 'count'>
  environments: Pick<Environments, 'count'>
  domains: Pick<Domains, 'count'>
  operations: Pick<Operations, 'countRunningBuilds'>
  instances: Pick<Instances, 'awake'>
  ceilings: Ceilings
  /** Builds of all accounts at a time. */
  concurrency: number
}

export function createCounts(parts: Parts) {
  /** As a claim counts it: with several accounts, one place stays free for another account. */
  async function maxBuilds(): Promise<number> {
    const isShared = (await parts.accounts.list()).length > 1
    const places = isShared ? Math.max(1, parts.concurrency - 1) : parts.concurrency
    return Math.min(places, parts.ceilings.RUNNING_BUILDS || places)
  }

  return async function counts(accountId: string): Promise<resources.Counted[]> {
    const awake = await parts.instances.awake(accountId)
    const used: Record<CeilingKind, number> = {
      APPS: await parts.apps.count(accountId),
      ENVIRONMENTS: await parts.environments.count(accountId),
      DOMAINS: await parts.domains.count(accountId),
      CREDENTIALS: await parts.credentials.count(accountId),
      AWAKE_APPS: awake.apps,
      APP_MEMORY: awake.memoryBytes,
      RUNNING_BUILDS: await parts.operations.countRunningBuilds(accountId),
    }
    const max = { ...parts.ceilings, RUNNING_BUILDS: await maxBuilds() }
    return CEILING_KINDS.map((kind) => ({
      kind,
      used: used[kind],
      limit: max[kind],
      setting: CEILING_SETTINGS[kind],
    }))
  }
}

export type Counts = ReturnType<typeof createCounts>
