/** Git on the machine of this process, and what a push to a branch does. */
import type { GitRemoteParts } from '../api/index.ts'
import { type Log, processName } from '../base/index.ts'
import { createBranches, createGitServing, createPushes, type GitRequest, type ServeGit } from '../branches/index.ts'
import { CLUSTER_KEY_PLACE, joinToken, PROTOCOL } from '../channel/index.ts'
import type { DataFiles } from '../data-files.ts'
import type { Database } from '../data-folder.ts'
import { answerControls, createGit, createRemote, createTending, type GitWorkers } from '../git/index.ts'
import type { Machine } from '../machine.ts'
import type { Config } from '../settings.ts'
import type { Vault } from '../storage/index.ts'
import { version } from '../version.ts'
import type { Admission } from './admission.ts'
import type { Deploying } from './deploying.ts'
import { archiveLimits } from './limits.ts'
import type { Records } from './records.ts'
import type { Requests } from './requests.ts'
import type { Retention } from './retention.ts'
import type { Stores } from './stores.ts'

type Parts = {
  config: Config
  files: DataFiles
  log: Log
  database: Database
  machine: Machine
  records: Records
  stores: Stores
  deploying: Deploying
  admission: Admission
  previews: Requests['previews']
}

export function assembleGit(parts: Parts) {
  const { config, files, log, database, machine, records, stores, deploying, admission, previews } = parts
  const { sql, clock, environments, operations } = database
  const { archives } = stores
  const git = createGit({
    // With apps on a swarm, workers run git for control processes.
    engine: config.engine === 'swarm' && config.roles.includes('control') ? undefined : machine.engine,
    limits: machine.limits.build,
    folder: files.git,
    canChooseUsers: machine.canChooseUsers,
    archives,
  })
  git.folders.sweep().catch((error) => log.warn({ err: error }, 'folders of git could not be removed'))
  const { buildRequests } = deploying
  const { ledger } = records
  const { admitBuild } = admission
  const branches = createBranches({ sql, clock, environments, operations, buildRequests, ledger, previews, admitBuild })
  const remote = createRemote({
    git,
    repositories: records.repositories,
    blobs: stores.packs,
    folder: files.git,
    maxPackBytes: config.archiveBytes,
  })
  return { git, branches, remote }
}

export type GitModules = ReturnType<typeof assembleGit>

type ServingSources = Pick<Parts, 'config' | 'log' | 'database' | 'records' | 'stores'> &
  GitModules & { retention: Retention }

/** Git for those who were admitted, by programs of this machine. */
export function assembleServing(parts: ServingSources, stopping: AbortSignal): ServeGit {
  const { log, database, records, stores, git, branches, remote, retention } = parts
  const { sql, operations } = database
  const { builds, repositories } = records
  const { diskSpace } = retention
  const pushes = createPushes({
    sql,
    git,
    remote,
    repositories,
    branches,
    operations,
    logs: stores.logs,
    isBuildOver: async (path, id) => (await builds.require(path, id)).finishTime !== null,
    space: diskSpace,
    onError: (error) => log.error({ err: error }, 'a push failed'),
  })
  const tend = createTending({ log, repositories, remote, signal: stopping })
  return createGitServing({ git, remote, pushes, diskSpace, tend })
}

export type RemoteSources = ServingSources & {
  /** Where this process runs no programs. */
  gitWorkers: GitWorkers<GitRequest> | undefined
}

type ServerState = { publicUrl(): string; stopping: AbortSignal }

/** What the remote at the API's server needs. */
export function assembleRemote(parts: RemoteSources, { publicUrl, stopping }: ServerState): GitRemoteParts {
  const { config, database, gitWorkers } = parts
  return {
    apps: database.apps,
    serve: gitWorkers
      ? (request, given) => gitWorkers.serve(request, { ...given, isPush: request.isPush })
      : assembleServing(parts, stopping),
    publicUrl,
    maxPackBytes: config.archiveBytes,
    stallMs: archiveLimits(config).stallMs,
  }
}

type AnswerParts = { config: Config; log: Log; vault: Pick<Vault, 'derive'>; serve: ServeGit }

/** In a worker: git for control processes. It has the key of tokens, and makes its own. */
export function answerGit({ config, log, vault, serve }: AnswerParts) {
  const token = joinToken(vault.derive(CLUSTER_KEY_PLACE), { role: 'worker', name: 'worker' })
  if (config.controlAddresses.length === 0)
    log.warn('git push, clone and fetch do not work through this worker: it has no controlAddresses')
  return answerControls<GitRequest>({
    addresses: config.controlAddresses.map((address) => ({ ...address, token })),
    greeting: { protocol: PROTOCOL, role: 'worker', process: processName(), version },
    serve: (request, { body, signal }) => serve(request, { body, signal }),
    onRefused: (error) => log.debug({ err: error }, 'a control process is not connected'),
  })
}
