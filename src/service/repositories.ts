/** Connected repositories: what users and providers ask for, what fetches, and what tells providers how builds went. */
import type { Account } from '../accounts/index.ts'
import type { Log } from '../base/index.ts'
import type { Branches } from '../branches/index.ts'
import { names, Problem } from '../contract/index.ts'
import type { DataFiles } from '../data-files.ts'
import type { Database } from '../data-folder.ts'
import { requireOpen } from '../deployments/index.ts'
import { createEgress, EgressRefused } from '../egress/index.ts'
import { createFetch, createGit, type Git } from '../git/index.ts'
import type { Machine } from '../machine.ts'
import {
  type BranchPreviews,
  createConnectedRepositories,
  createFetchRuns,
  createFetchWork,
  createPushHooks,
  createStatusSending,
  type DeployBranch,
  type FetchBranch,
} from '../repositories/index.ts'
import { egressRulesOf } from '../settings/notices.ts'
import type { Config } from '../settings.ts'
import type { LeaderWork } from '../storage/index.ts'
import type { Admission } from './admission.ts'
import type { Deploying } from './deploying.ts'
import type { Live } from './live.ts'
import type { Records } from './records.ts'
import type { Requests } from './requests.ts'
import type { Retention } from './retention.ts'
import type { Stores } from './stores.ts'

type RequestParts = {
  database: Database
  records: Records
  requests: Requests
  branches: Branches
  /** Undefined where apps have no previews. */
  previews?: { areEnabled(account: Account, appName: string): Promise<boolean> }
  /** Something is to be fetched. */
  announce(): void
}

/** What users and providers ask for. */
export function assembleRepositories(parts: RequestParts) {
  const { database, records, requests, announce } = parts
  const { sql, clock, accounts, environments } = database
  const { repositoryRecords, ledger } = records
  const connectedRepositories = createConnectedRepositories({
    sql,
    clock,
    records: repositoryRecords,
    requireOpen: (tx, at) => requireOpen(environments, tx, at),
    announce,
  })
  const pushHooks = createPushHooks({
    sql,
    clock,
    records: repositoryRecords,
    rates: requests.webhookRates,
    accounts,
    environments,
    ledger,
    previews: previewsOf(parts),
    announce,
  })
  return { connectedRepositories, pushHooks }
}

export type ConnectedParts = ReturnType<typeof assembleRepositories>

function previewsOf({ database: { apps }, branches, previews }: RequestParts): BranchPreviews {
  return {
    /** An environment that names the branch is deployed by pushes to this service. */
    async areOn({ account, appName }, branch) {
      if (branch === names.UPLOADABLE || !(await previews?.areEnabled(account, appName))) return false
      const app = await apps.require(account.id, appName)
      return (await branches.targetsOf({ app, branch })).every(({ isPreview }) => isPreview)
    },
    async deleted({ account, appName, branch, requester }) {
      const app = await apps.require(account.id, appName)
      const targets = await branches.targetsOf({ app, branch })
      await branches.deleted({ account, app, branch, requester })
      return targets.some(({ isPreview }) => isPreview)
    },
  }
}

type FetchParts = {
  config: Config
  files: DataFiles
  log: Log
  database: Database
  machine: Machine
  records: Records
  stores: Stores
  deploying: Pick<Deploying, 'buildRequests'>
  admission: Admission
  retention: Pick<Retention, 'diskSpace'>
  branches: Branches
}

/** Fetches on the machine of this process. */
export function createFetching(parts: FetchParts) {
  const { log, database, records, admission, branches } = parts
  const { diskSpace } = parts.retention
  const { sql, clock, accounts, apps, environments, operations } = database
  const deployBranch: DeployBranch = async ({ account, appName, branch, archive, requester }) => {
    const app = await apps.require(account.id, appName)
    const deployed = await branches.deploy({ account, app, branch, archive, requester, source: 'REPOSITORY' })
    return deployed.map(({ environment, operation }) => ({ environmentId: environment.id, operationId: operation.id }))
  }
  const work = createFetchWork({
    sql,
    clock,
    log,
    accounts,
    environments,
    operations,
    records: records.repositoryRecords,
    statuses: records.statusRecords,
    ledger: records.ledger,
    buildRequests: parts.deploying.buildRequests,
    admitBuild: admission.admitBuild,
    fetchBranch: fetchBranchWith(parts),
    deployBranch,
    async promise(account, environmentId) {
      const { cover, giveBack } = await diskSpace.forUpload(account, environmentId, 0)
      return { cover, giveBack, received: (archive) => diskSpace.received(account, archive) }
    },
  })
  return createFetchRuns({ clock, log, records: records.repositoryRecords, work })
}

function fetchBranchWith({ config, files, machine, stores }: FetchParts): FetchBranch {
  const { engine, networks, limits, canChooseUsers } = machine
  const git: Git = createGit({
    engine,
    limits: limits.build,
    folder: files.git,
    canChooseUsers,
    archives: stores.archives,
  })
  const fetch = createFetch({
    jobs: () => git.jobs,
    folders: git.folders,
    openNetwork: networks && ((label) => networks.open(label)),
  })
  return async (source, { known, signal, admit }) => {
    const obstacle = await git.obstacle()
    if (obstacle !== undefined) throw new Problem('GIT_UNAVAILABLE', obstacle)
    const { commit, folder, knownHosts } = await fetch(source, {
      known,
      signal,
      timeoutMs: config.fetchTimeout * 1000,
    })
    const learned = knownHosts === undefined ? {} : { knownHosts }
    if (!folder) return { commit, ...learned }
    try {
      return { commit, archive: await git.archive(folder, commit, { signal, admit }), ...learned }
    } finally {
      await folder.remove()
    }
  }
}

type StatusParts = {
  config: Config
  log: Log
  database: Database
  records: Records
  live: Live
  publicUrl(): string
}

/** Statuses of commits, sent by the leader. */
export function createStatuses({ config, log, database, records, live, publicUrl }: StatusParts): LeaderWork {
  const { sql, clock, accounts, environments, operations } = database
  return (term) => {
    const egress = createEgress(egressRulesOf(config))
    return createStatusSending({
      sql,
      clock,
      log,
      accounts,
      environments,
      operations,
      records: records.repositoryRecords,
      statuses: records.statusRecords,
      send: egress.send,
      isRefused: (error) => error instanceof EgressRefused,
      siteUrl: live.siteUrl,
      publicUrl,
      term,
    }).start()
  }
}
