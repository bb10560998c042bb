/** What the service keeps in the database beside what operators' commands use, and the secrets that are sealed there. */
import { ownHosts } from '../addresses.ts'
import { createCookieKeys, createDomains, createTokens, createVariables, notifyBelow } from '../apps/index.ts'
import { createBuildRetention, createBuilds, createSources } from '../builds/index.ts'
import type { Database } from '../data-folder.ts'
import { createDeployments, createRetries, createRevalidations, createWantedInstances } from '../deployments/index.ts'
import { createScheduleRecords } from '../schedules/index.ts'
import type { Config } from '../settings.ts'
import type { Vault } from '../storage/index.ts'
import { createLedger } from '../triggers/index.ts'
import { createWebhookSets } from '../webhooks/index.ts'

export function createRecords({ config, database, vault }: { config: Config; database: Database; vault: Vault }) {
  const { sql, clock, newId, accounts, environments, operations } = database
  const builds = createBuilds({ sql, clock, newId, notifyBelow, requestersOf: operations.requestersOf })
  return {
    tokens: createTokens({ vault }),
    variables: createVariables({ vault }),
    cookieKeyOf: createCookieKeys({ vault }),
    domains: createDomains({ sql, clock, domain: config.domain, ownHosts: ownHosts(config) }),
    builds,
    buildRetention: createBuildRetention({
      sql,
      environmentIdsOf: async (accountId) => (await environments.all(accountId)).map(({ id }) => id),
    }),
    sources: createSources({ sql, clock, notifyBelow }),
    deployments: createDeployments({ sql, clock, newId, builds, operations }),
    retries: createRetries({ sql, clock, intervalMs: config.retryInterval * 1000 }),
    revalidations: createRevalidations({ sql, clock, environments }),
    wantedInstances: createWantedInstances({ sql, clock }),
    ledger: createLedger({ sql, newId, operations, notifyBelow }),
    webhookSets: createWebhookSets({ sql, clock, newId, accounts, environments }),
    scheduleRecords: createScheduleRecords({ sql, newId }),
  }
}

export type Records = ReturnType<typeof createRecords>
