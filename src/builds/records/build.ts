/**
 * A build as it is recorded. Its states:
 *
 *   QUEUED     requested together with its operation
 *   RUNNING    a worker has begun; after a crash a worker begins again
 *   SUCCEEDED  its output is kept. A build that is held has succeeded too: its output was found suspicious and was not made live
 *   FAILED     with a failure
 *   CANCELLED
 *
 * No transition leads out of the last three.
 */
import type { Reason, resources } from '../../contract/index.ts'
import type { Contact } from '../../engines/index.ts'
import { type Digest, statement } from '../../storage/index.ts'
import type { Plan } from '../plan/plan.ts'
import { warningsOf } from '../plan/warnings.ts'
import type { CacheUse } from '../run/caches.ts'
import type { Exact } from '../toolchain/exact.ts'
import { type Failure, type FirstFailure, readFailure } from './failure.ts'

export type Contacts = (Contact & { isNew: boolean })[]

/** Why an output was found suspicious: sentences for the tenant, and details for the module that decides it. */
export type Suspected = { sentences: string[]; details: unknown }

/** The archive that a build starts from, with the message and the commit that were sent with its upload. */
export type SourceArchive = { digest: Digest; bytes: number; files: number } & Partial<resources.Described>

export type Build = {
  id: string
  environmentId: string
  operationId: string
  trigger: resources.Trigger
  isClean: boolean
  requestedBy: resources.Requester | null
  /** It is to be made live, whatever its output looks like. */
  isForced: boolean
  archive: SourceArchive
  state: resources.BuildState
  phase: resources.Phase
  plan: Plan | null
  /** The exact versions that it was made with. */
  tools: Exact | null
  /** Sentences for the tenant about what works today and should be changed. Computed when the record is read. */
  warnings: string[]
  output: Digest | null
  /** Visitors got the same output already, so nothing was switched. */
  isUnchanged: boolean
  /** What is suspicious about its output; null where nothing is. */
  suspected: Suspected | null
  /** It was not made live because its output is suspicious. */
  isHeld: boolean
  /** Installed packages that the output needs to run, or that the next build may use. */
  packagesId: string | null
  /**
   * The hosts that it contacted, where that can be known; those that earlier builds did not contact are marked. Null in lists
   * of builds, since the record may be long.
   */
  contacts: Contacts | null
  /** What was kept from earlier builds, and what of it was used. */
  caches: CacheUse[]
  /** Milliseconds of each phase that was left. */
  durations: Partial<Record<resources.Phase, number>>
  failure: Failure | null
  firstFailure: FirstFailure | null
  createTime: number
  startTime: number | null
  finishTime: number | null
}

/** Where a build is looked up: never by its id alone. */
export type BuildPath = { accountId: string; environmentId: string }

export type BuildRow = {
  id: string
  environment_id: string
  operation_id: string
  trigger_name: resources.Trigger
  is_clean: number
  is_forced: number
  archive_digest: Digest
  archive_bytes: number
  archive_files: number
  message: string
  git_commit: string | null
  state: Build['state']
  phase: Build['phase']
  plan: string | null
  tools: string | null
  output_digest: Digest | null
  is_unchanged: number
  suspicion: string | null
  is_held: number
  packages_id: string | null
  caches: string | null
  contacts?: string | null
  durations: string
  failure: string | null
  first_failure: string | null
  create_time: number
  start_time: number | null
  finish_time: number | null
}

export const columns = statement`id, environment_id, operation_id, trigger_name, is_clean, archive_digest, archive_bytes,
  archive_files, message, git_commit, state, phase, plan, tools, output_digest, is_unchanged, suspicion, is_held, is_forced,
  packages_id, caches, durations, failure, first_failure, create_time, start_time, finish_time`

export function toBuild(row: BuildRow, requestedBy: resources.Requester | null, now: number): Build {
  const plan: Plan | null = row.plan === null ? null : JSON.parse(row.plan)
  const tools: Exact | null = row.tools === null ? null : JSON.parse(row.tools)
  const suspected: Suspected | null = row.suspicion === null ? null : JSON.parse(row.suspicion)
  return {
    id: row.id,
    environmentId: row.environment_id,
    operationId: row.operation_id,
    trigger: row.trigger_name,
    isClean: row.is_clean === 1,
    isForced: row.is_forced === 1,
    requestedBy,
    archive: toArchive(row),
    state: row.state,
    phase: row.phase,
    plan,
    tools,
    warnings: [...(row.is_held === 1 ? [] : (suspected?.sentences ?? [])), ...warningsOf(plan, tools, now)],
    output: row.output_digest,
    isUnchanged: row.is_unchanged === 1,
    suspected,
    isHeld: row.is_held === 1,
    packagesId: row.packages_id,
    caches: row.caches === null ? [] : JSON.parse(row.caches),
    contacts: row.contacts ? JSON.parse(row.contacts) : null,
    durations: JSON.parse(row.durations),
    failure: row.failure === null ? null : readFailure(row.failure),
    firstFailure: row.first_failure === null ? null : JSON.parse(row.first_failure),
    createTime: row.create_time,
    startTime: row.start_time,
    finishTime: row.finish_time,
  }
}

const toArchive = (row: BuildRow): SourceArchive => ({
  digest: row.archive_digest,
  bytes: row.archive_bytes,
  files: row.archive_files,
  message: row.message,
  commit: row.git_commit === null ? null : JSON.parse(row.git_commit),
})

export type LatestBuild = Pick<Build, 'id' | 'trigger' | 'state' | 'phase' | 'createTime' | 'finishTime'> & {
  /** Why it failed, or was held. */
  reason: Reason | undefined
}

export type LatestRow = Pick<
  BuildRow,
  'id' | 'environment_id' | 'trigger_name' | 'state' | 'phase' | 'failure' | 'is_held' | 'create_time' | 'finish_time'
>

export const toLatest = (row: LatestRow): LatestBuild => ({
  id: row.id,
  trigger: row.trigger_name,
  state: row.state,
  phase: row.phase,
  reason: row.is_held === 1 ? 'SUSPICIOUS_OUTPUT' : row.failure === null ? undefined : JSON.parse(row.failure).reason,
  createTime: row.create_time,
  finishTime: row.finish_time,
})
