/** What the worker does for each kind of operation: make an environment, build, deploy, change, delete. */
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import {
  createBlame,
  createBuildRequests,
  createCacheCopies,
  createDeploy,
  createInspect,
  createLookAhead,
  createMake,
  createPins,
  createProvision,
  createRedeploy,
  createSuccession,
  createSwitch,
} from '../deployments/index.ts'
import type { Machine } from '../machine.ts'
import type { Config } from '../settings.ts'
import type { AppVariables, Hosting } from './hosting.ts'
import type { Live } from './live.ts'
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
}

export function createDeploying(parts: Parts) {
  const { config, log, database, machine, records, stores, hosting, appVariables, live, retention } = parts
  const { sql, clock, accounts, apps, environments, operations } = database
  const { engine, networks, toolchains } = machine
  const { variables, domains, builds, sources, deployments, retries, revalidations, ledger } = records
  const { archives, outputs, packages, logs, storedCaches } = stores
  const { folders, instances } = hosting
  const { routing, launcher, imageSteps, earlierFiles, siteUrl } = live
  const { diskSpace, rounds } = retention

  const buildRequests = createBuildRequests({ clock, environments, operations, builds, sources, ledger })
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
    rewriteHosts: config.rewriteHosts,
    run: { engine, networks, packages, deadlines, limits: machine.limits.build },
  })
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
    buildRequests,
    imageSteps,
    cacheCopies,
    launcher,
    switching,
    beginSuccession,
    finishWithEnvironment,
    make,
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
    imageSteps,
    launcher,
    switching,
    beginSuccession,
    finishWithEnvironment,
  })
  return {
    handlers: {
      CREATE: provision.create,
      UPDATE: redeploy.update,
      DELETE: provision.remove,
      UPLOAD: deploy,
      REBUILD: deploy,
      CLEAN_REBUILD: deploy,
      ACTIVATE: redeploy.activate,
    },
    buildRequests,
    pins,
    finishWithEnvironment,
  }
}

export type Deploying = ReturnType<typeof createDeploying>
