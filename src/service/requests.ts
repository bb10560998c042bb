/** What users and webhooks can ask for: changes of environments and domains, builds, purges. */
import type { Database } from '../data-folder.ts'
import {
  createClearCache,
  createPromote,
  createReplaceDomains,
  createRequests,
  requireOpen,
} from '../deployments/index.ts'
import { createPreviews } from '../previews/index.ts'
import { createSchedules } from '../schedules/index.ts'
import type { Config } from '../settings.ts'
import { createWebhookRates, createWebhooks } from '../webhooks/index.ts'
import type { Admission } from './admission.ts'
import type { Deploying } from './deploying.ts'
import type { Hosting } from './hosting.ts'
import { ceilingsOf } from './limits.ts'
import type { Live } from './live.ts'
import type { Records } from './records.ts'

type Parts = {
  config: Config
  database: Database
  records: Records
  hosting: Hosting
  live: Live
  deploying: Deploying
  admission: Admission
}

export function assembleRequests({ config, database, records, hosting, live, deploying, admission }: Parts) {
  const { sql, clock, apps, environments, operations } = database
  const { variables, domains, builds, sources, deployments, ledger, webhookSets, scheduleRecords } = records
  const { previewRecords } = records
  const { purges, sharers } = hosting
  const { routing } = live
  const { buildRequests, buildInputs, publishing, finishWithEnvironment } = deploying
  const { admitBuild } = admission
  const { ENVIRONMENTS, DOMAINS } = ceilingsOf(config)

  const requests = createRequests({
    sql,
    apps,
    environments,
    operations,
    variables,
    builds,
    sources,
    deployments,
    buildRequests,
    ledger,
    routing,
    previewRecords,
    maxEnvironments: ENVIRONMENTS,
  })
  const promote = createPromote({
    sql,
    environments,
    operations,
    builds,
    sources,
    deployments,
    buildRequests,
    buildInputs,
    admitBuild,
  })
  const previews = createPreviews({
    sql,
    clock,
    apps,
    environments,
    operations,
    records: previewRecords,
    requests,
    routing,
    maxEnvironments: ENVIRONMENTS,
  })
  const replaceDomains = createReplaceDomains({ sql, clock, environments, domains, routing, maxDomains: DOMAINS })
  const clearCache = createClearCache({
    sql,
    environments,
    operations,
    ledger,
    purges,
    publishing,
    finishWithEnvironment,
  })
  const rates = createWebhookRates(clock, {
    callsPerMinute: config.webhookCalls,
    guessesPerMinute: config.webhookGuesses,
    sharers,
  })
  const webhooks = createWebhooks({
    sql,
    clock,
    operations,
    ledger,
    sets: webhookSets,
    rates,
    buildRequests,
    clearCache,
    admitBuild,
  })
  const schedules = createSchedules({
    sql,
    clock,
    records: scheduleRecords,
    requireOpen: (tx, at) => requireOpen(environments, tx, at),
  })
  return { requests, promote, previews, replaceDomains, clearCache, webhooks, webhookRates: rates, schedules }
}

export type Requests = ReturnType<typeof assembleRequests>
