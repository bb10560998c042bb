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

/** SUSPICIOUS_OUTPUT: by its files and contacts. CHECK_FAILED: by what it answered before visitors got it. */
export type HeldReason = 'SUSPICIOUS_OUTPUT' | 'CHECK_FAILED'

export type Contacts = (Contact & { isNew: boolean })[]

/** Why an output was found suspicious: sentences for the tenant, and details for the module that decides it. */
export type Suspected = { sentences: string[]; details: unknown }

/** The content that a build was made from while its CMS was down: of which build and when; which server failed, and how. */
export type FromSnapshot = {
  build: string
  time: number
  failed: { protocol: 'http' | 'https'; host: string; port: number }
  message: string
}

/** The archive that a build starts from, with the message and the commit that were sent with its upload. */
export type SourceArchive = {
  digest: Digest
  bytes: number
  files: number
  promotion?: Promotion
} & Partial<resources.Described>

/** Where an archive was live before it was promoted. `differing`: why its output could not be used, by name. */
export type Promotion = { environment: string; displayName: string; build: string; differing: string[] }

/** Keyed digests of what a build sees beside its archive, by name. */
export type BuildInputs = Record<string, string>

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
  /** What it was made of; null where that was not recorded. */
  inputs: BuildInputs | null
  /** Visitors got the same output already, so nothing was switched. */
  isUnchanged: boolean
  /** What is suspicious about its output; null where nothing is. */
  suspected: Suspected | null
  /** It was not made live because its output is suspicious, or because pages are broken. */
  isHeld: boolean
  /** Why it is held; null if it is not. */
  heldReason: HeldReason | null
  /** Null where the CMS answered, or nothing was recorded. */
  fromSnapshot: FromSnapshot | null
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
  promoted_from: string | null
  inputs: string | null
  state: Build['state']
  phase: Build['phase']
  plan: string | null
  tools: string | null
  output_digest: Digest | null
  is_unchanged: number
  suspicion: string | null
  is_held: number
  held_reason: HeldReason | null
  from_snapshot: string | null
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
  archive_files, message, git_commit, promoted_from, inputs, state, phase, plan, tools, output_digest, is_unchanged, suspicion, is_held, held_reason, is_forced, from_snapshot,
  packages_id, caches, durations, failure, first_failure, create_time, start_time, finish_time`

export function toBuild(row: BuildRow, requestedBy: resources.Requester | null, now: number): Build {
  const plan: Plan | null = row.plan === null ? null : JSON.parse(row.plan)
  const tools: Exact | null = row.tools === null ? null : JSON.parse(row.tools)
  const archive = toArchive(row)
  const suspected: Suspected | null = row.suspicion === null ? null : JSON.parse(row.suspicion)
  return {
    id: row.id,
    environmentId: row.environment_id,
    operationId: row.operation_id,
    trigger: row.trigger_name,
    isClean: row.is_clean === 1,
    isForced: row.is_forced === 1,
    requestedBy,
    archive,
    state: row.state,
    phase: row.phase,
    plan,
    tools,
    warnings: [
      ...(row.is_held === 1 ? [] : (suspected?.sentences ?? [])),
      ...(archive.commit?.notes ?? []),
      ...warningsOf(plan, tools, now),
    ],
    output: row.output_digest,
    inputs: row.inputs === null ? null : JSON.parse(row.inputs),
    isUnchanged: row.is_unchanged === 1,
    suspected,
    isHeld: row.is_held === 1,
    heldReason: heldReasonOf(row),
    fromSnapshot: row.from_snapshot === null ? null : JSON.parse(row.from_snapshot),
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
  ...(row.promoted_from === null ? {} : { promotion: JSON.parse(row.promoted_from) }),
})

/** A build that an earlier version has held has no reason on record. */
const heldReasonOf = (row: Pick<BuildRow, 'is_held' | 'held_reason'>): HeldReason | null =>
  row.is_held === 1 ? (row.held_reason ?? 'SUSPICIOUS_OUTPUT') : null

export type LatestBuild = Pick<Build, 'id' | 'trigger' | 'state' | 'phase' | 'createTime' | 'finishTime'> & {
  /** Why it failed, or was held. */
  reason: Reason | undefined
}

export type LatestRow = Pick<
  BuildRow,
  | 'id'
  | 'environment_id'
  | 'trigger_name'
  | 'state'
  | 'phase'
  | 'failure'
  | 'is_held'
  | 'held_reason'
  | 'create_time'
  | 'finish_time'
>

export const toLatest = (row: LatestRow): LatestBuild => ({
  id: row.id,
  trigger: row.trigger_name,
  state: row.state,
  phase: row.phase,
  reason: heldReasonOf(row) ?? (row.failure === null ? undefined : JSON.parse(row.failure).reason),
  createTime: row.create_time,
  finishTime: row.finish_time,
})
