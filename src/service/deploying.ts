/** What the worker does for each kind of operation: make an environment, build, deploy, change, delete. */
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import {
  createBlame,
  createBuildInputs,
  createBuildRequests,
  createCacheCopies,
  createCheck,
  createDeploy,
  createInspect,
  createLookAhead,
  createMake,
  createPins,
  createProvision,
  createRedeploy,
  createSuccession,
  createSwitch,
  runtimeLogName,
} from '../deployments/index.ts'
import type { Machine } from '../machine.ts'
import type { Config } from '../settings.ts'
import type { AppVariables, Hosting } from './hosting.ts'
import type { Live } from './live.ts'
import { assembleBuildNotices } from './notices/build-notices.ts'
import { assemblePublishing, createOnEnd } from './publishes/publishing.ts'
import type { Records } from './records.ts'
import type { Retention } from './retention.ts'
import type { Stores } from './stores.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  machine: Machine
  records: Records
  stores: Stores
  hosting: Hosting
  appVariables: AppVariables
  live: Live
  retention: Retention
  /** Called when visitors get a deployment. */
  onLive?(environmentId: string): void
  /** The paths of an environment that visitors ask for most. */
  mostVisited(environmentId: string): Promise<string[]>
}

export function createDeploying(parts: Parts) {
  const { config, log, database, machine, records, stores, hosting, appVariables, live, retention } = parts
  const { sql, clock, accounts, apps, environments, operations } = database
  const { engine, networks, toolchains } = machine
  const { variables, domains, builds, sources, deployments, retries, revalidations, ledger } = records
  const { archives, outputs, packages, tarballs, logs, storedCaches } = stores
  const { folders, instances } = hosting
  const { routing, launcher, imageSteps, earlierFiles, siteUrl } = live
  const { diskSpace, rounds } = retention

  const buildInputs = createBuildInputs({ appVariables, keyOf: records.buildInputKeyOf })
  const publishing = assemblePublishing({ log, database, records })
  const buildRequests = createBuildRequests({ clock, environments, operations, builds, sources, ledger, publishing })
  const pins = createPins({ sql, environments, builds, sources })
  const switching = createSwitch({
    sql,
    log,
    environments,
    operations,
    builds,
    deployments,
    folders,
    instances,
    routing,
    earlierFiles,
    pins,
    logs,
    publishing,
    ...(parts.onLive ? { onLive: parts.onLive } : {}),
    onSwitched: rounds.switched,
  })
  const provision = createProvision({
    sql,
    clock,
    accounts,
    apps,
    environments,
    operations,
    domains,
    builds,
    sources,
    deployments,
    retries,
    outputs,
    packages,
    logs,
    folders,
    routing,
    switching,
    siteUrl,
  })
  const { finishWithEnvironment } = provision
  const deadlines = { installMs: config.installTimeout * 1000, buildMs: config.buildTimeout * 1000 }
  const cacheCopies = createCacheCopies({ log, folders, storedCaches })
  const make = createMake({
    sql,
    clock,
    builds,
    archives,
    outputs,
    packages,
    toolchains,
    folders,
    appVariables,
    diskSpace,
    cacheCopies,
    snapshots: stores.snapshots,
    rewriteHosts: config.rewriteHosts,
    run: { engine, networks, packages, tarballs, deadlines, limits: machine.limits.build },
  })
  const check = checkWith(parts)
  const beginSuccession = createSuccession({ log, revalidations, instances })
  const deploy = createDeploy({
    sql,
    clock,
    log,
    accounts,
    environments,
    builds,
    sources,
    deployments,
    retries,
    outputs,
    logs,
    folders,
    appVariables,
    buildInputs,
    refreshVariables: records.previewRecords.refresh,
    buildRequests,
    imageSteps,
    cacheCopies,
    launcher,
    switching,
    beginSuccession,
    check,
    finishWithEnvironment,
    make,
    snapshots: stores.snapshots,
    needsPrograms: createLookAhead({ archives }),
    inspect: createInspect({
      sql,
      builds,
      environments,
      deployments,
      outputs,
      appVariables,
      // Another worker may have built what is live.
      ...(config.engine === 'swarm' ? { fetchOutput: imageSteps.restoreHere } : {}),
    }),
    blame: createBlame({ archives, builds, deployments, variables }),
  })
  const redeploy = createRedeploy({
    sql,
    environments,
    builds,
    deployments,
    retries,
    routing,
    outputs,
    folders,
    logs,
    imageSteps,
    launcher,
    switching,
    beginSuccession,
    check,
    finishWithEnvironment,
  })
  const buildNotices = assembleBuildNotices({ database, records, live })
  return {
    handlers: {
      CREATE: provision.create,
      UPDATE: redeploy.update,
      DELETE: provision.remove,
      UPLOAD: deploy,
      REBUILD: deploy,
      CLEAN_REBUILD: deploy,
      ACTIVATE: redeploy.activate,
      PROMOTE: redeploy.promote,
    },
    buildRequests,
    buildInputs,
    buildNotices,
    publishing,
    onEnd: createOnEnd({ publishing, buildNotices }),
    pins,
    finishWithEnvironment,
  }
}

function checkWith({ config, log, database, records, stores, hosting, live, mostVisited }: Parts) {
  const { builds, deployments, domains } = records
  const { outputs, logs } = stores
  return createCheck({
    ...database,
    log,
    builds,
    deployments,
    domains,
    outputs,
    logs,
    instances: hosting.instances,
    logNameOf: runtimeLogName,
    mostVisited,
    mayBeApart: config.engine === 'swarm',
    siteUrl: live.siteUrl,
  })
}

export type Deploying = ReturnType<typeof createDeploying>
