/** What the service keeps in the database beside what operators' commands use, and the secrets that are sealed there. */
import { ownHosts } from '../addresses.ts'
import {
  createCookieKeys,
  createDomains,
  createPreviewRecords,
  createTokens,
  createVariables,
  notifyBelow,
} from '../apps/index.ts'
import { createBuildRetention, createBuilds, createSources } from '../builds/index.ts'
import type { Database } from '../data-folder.ts'
import { createDeployments, createRetries, createRevalidations, createWantedInstances } from '../deployments/index.ts'
import { createRepositories } from '../git/index.ts'
import { createConditionRecords, createNotices, createOutbox, createTargetRecords } from '../notices/index.ts'
import { createPublishRecords } from '../publishes/index.ts'
import { createRepositoryRecords, createStatusRecords } from '../repositories/index.ts'
import { createScheduleRecords } from '../schedules/index.ts'
import type { Config } from '../settings.ts'
import { createSnapshotRecords, createSnapshots } from '../snapshots/index.ts'
import type { Blobs, Vault } from '../storage/index.ts'
import { createLedger } from '../triggers/index.ts'
import { createWebhookSets } from '../webhooks/index.ts'

export function createRecords({ config, database, vault }: { config: Config; database: Database; vault: Vault }) {
  const { sql, clock, newId, accounts, environments, operations } = database
  const variables = createVariables({ vault })
  const builds = createBuilds({ sql, clock, newId, notifyBelow, requestersOf: operations.requestersOf })
  const snapshotRecords = createSnapshotRecords({ sql, clock })
  return {
    snapshotRecords,
    snapshotsIn: (blobs: Blobs) => createSnapshots({ records: snapshotRecords, blobs, derive: vault.derive }),
    tokens: createTokens({ vault }),
    variables,
    previewRecords: createPreviewRecords({ sql, clock, environments, variables }),
    buildInputKeyOf: (accountId: string) => vault.derive(`accounts/${accountId}/build-inputs`),
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
    publishRecords: createPublishRecords({ sql, clock, newId, notifyBelow }),
    webhookSets: createWebhookSets({ sql, clock, newId, accounts, environments }),
    repositories: createRepositories({ sql, clock, newId }),
    scheduleRecords: createScheduleRecords({ sql, newId }),
    repositoryRecords: createRepositoryRecords({ sql, newId, vault }),
    statusRecords: createStatusRecords({ sql, newId, now: () => clock.now() }),
    notices: createNotices({ clock, newId }),
    conditionRecords: createConditionRecords({ sql }),
    targetRecords: createTargetRecords({ sql, vault, newId }),
    outbox: createOutbox({ sql, clock, newId }),
  }
}

export type Records = ReturnType<typeof createRecords>
