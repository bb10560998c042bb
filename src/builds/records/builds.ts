/**
 * The record of builds. The life of one:
 *
 *   QUEUED     asked for together with its operation
 *   RUNNING    a worker has begun; begun again after a crash
 *   SUCCEEDED  its output is kept; FAILED with a failure; CANCELLED. Nothing leads out of these three. One that is held has
 *              succeeded, and its output was found suspicious and was not made live.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock, NewId } from '../../base/index.ts'
import { Problem, type Reason, type resources } from '../../contract/index.ts'
import { type Contact, contactKey } from '../../engines/index.ts'
import {
  type Digest,
  list,
  type NotifyBelow,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  type Sql,
  statement,
  type Transaction,
} from '../../storage/index.ts'
import { needsPrograms, type Plan } from '../plan/plan.ts'
import { warningsOf } from '../plan/warnings.ts'
import type { CacheUse } from '../run/caches.ts'
import type { Size } from '../run/untrusted-folder.ts'
import type { Exact } from '../toolchain/exact.ts'
import { createBuildBatches } from './batches.ts'
import { type Failure, type FirstFailure, readFailure } from './failure.ts'

export type Contacts = (Contact & { isNew: boolean })[]

/** Why an output was found suspicious, in words and as the room that decides it has written it. */
export type Suspected = { sentences: string[]; details: unknown }

/** As it was uploaded, with what its sender wrote about it. */
export type Archive = { digest: Digest; bytes: number; files: number } & Partial<resources.Described>

export type Build = {
  id: string
  environmentId: string
  operationId: string
  trigger: resources.Trigger
  isClean: boolean
  requestedBy: resources.Requester | null
  /** It is to be made live, whatever its output looks like. */
  isForced: boolean
  archive: Archive
  state: resources.BuildState
  phase: resources.Phase
  plan: Plan | null
  /** The exact versions that it was made with. */
  tools: Exact | null
  /** Sentences for people about what works today and should not stay as it is. As of now, and not of the day it was made. */
  warnings: string[]
  output: Digest | null
  /** Visitors got the same output already, so nothing was switched. */
  isUnchanged: boolean
  /** What is suspicious about its output; null where nothing is. */
  suspected: Suspected | null
  /** Its output is suspicious, and it was not made live for that. */
  isHeld: boolean
  /** Installed packages that the output needs to run, or that the next build may use. */
  packagesId: string | null
  /**
   * Whom it called, where that can be known; those that the build before did not call are marked. Only for who asks for this
   * one build: the record may be long, and a list has many.
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

type BuildRow = {
  id: string
  environment_id: string
  operation_id: string
  trigger_name: resources.Trigger
  is_clean: number
  is_forced: number
  archive_digest: Digest
  archive_bytes: number
  archive_files: number
  requested_by: string | null
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

export type LatestBuild = Pick<Build, 'id' | 'trigger' | 'state' | 'phase' | 'createTime' | 'finishTime'> & {
  /** Why it failed, or was held. */
  reason: Reason | undefined
}

type LatestRow = Pick<
  BuildRow,
  'id' | 'environment_id' | 'trigger_name' | 'state' | 'phase' | 'failure' | 'is_held' | 'create_time' | 'finish_time'
>

const columns = statement`id, environment_id, operation_id, trigger_name, is_clean, archive_digest, archive_bytes,
  archive_files, (SELECT o.requested_by FROM operations o WHERE o.id = builds.operation_id) AS requested_by, message,
  git_commit, state, phase, plan, tools, output_digest, is_unchanged, suspicion, is_held, is_forced, packages_id, caches,
  durations, failure, create_time,
  durations, failure, first_failure, create_time, start_time, finish_time`

const PREDECESSORS = 10

/** So many plans are parsed before everybody else in the process gets a turn. */
const ROWS_AT_A_TIME = 20

export type BuildPath = { accountId: string; environmentId: string }

type Parts = { sql: Sql; clock: Clock; newId: NewId; notifyBelow: NotifyBelow }

export function createBuilds({ sql, clock, newId, notifyBelow }: Parts) {
  const asBuild = (row: BuildRow): Build => toBuild(row, clock.now())

  async function change(id: string, set: ReturnType<typeof statement>) {
    await sql.transaction((tx) => changeAndNotify(tx, statement`UPDATE builds SET ${set} WHERE id = ${id}`))
  }

  async function changeAndNotify(tx: Transaction, update: ReturnType<typeof statement>) {
    const rows = await tx.query<{ id: string; environment_id: string }>(
      statement`${update} RETURNING id, environment_id`,
    )
    for (const { id, environment_id } of rows) await notifyBelow(tx, environment_id, `builds/${id}`)
  }

  return {
    newId,

    async insert(
      tx: Transaction,
      { accountId, environmentId }: BuildPath,
      given: {
        id: string
        operationId: string
        trigger: resources.Trigger
        isClean: boolean
        isForced?: boolean
        archive: Archive
      },
    ) {
      const { id, operationId, trigger, isClean, isForced = false, archive } = given
      await tx.query(statement`
        INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, is_forced, archive_digest,
          archive_bytes, archive_files, message, git_commit, state, phase, durations, create_time)
        VALUES (${id}, ${accountId}, ${environmentId}, ${operationId}, ${trigger}, ${isClean ? 1 : 0},
          ${isForced ? 1 : 0}, ${archive.digest}, ${archive.bytes}, ${archive.files}, ${archive.message ?? ''},
          ${archive.commit ? JSON.stringify(archive.commit) : null}, 'QUEUED', 'QUEUED', '{}', ${clock.now()})`)
      await notifyBelow(tx, environmentId, `builds/${id}`)
    },

    async require({ accountId, environmentId }: BuildPath, id: string, reader: Reader = sql): Promise<Build> {
      const [row] = await reader.query<BuildRow>(statement`
        SELECT ${columns}, contacts FROM builds
        WHERE id = ${id} AND account_id = ${accountId} AND environment_id = ${environmentId}`)
      if (!row) throw new Problem('BUILD_NOT_FOUND')
      return asBuild(row)
    },

    /** Whether nobody will work on it again: it ended, or its environment is gone. */
    async isOver(id: string): Promise<boolean> {
      const [row] = await sql.query<{ finish_time: number | null }>(
        statement`SELECT finish_time FROM builds WHERE id = ${id}`,
      )
      return row === undefined || row.finish_time !== null
    },

    async ofOperation(reader: Reader, operationId: string): Promise<Build | undefined> {
      const [row] = await reader.query<BuildRow>(
        statement`SELECT ${columns} FROM builds WHERE operation_id = ${operationId}`,
      )
      return row && asBuild(row)
    },

    /** Whether its last build that was planned ran a program of the app; false where none was planned. */
    async lastNeededPrograms(reader: Reader, environmentId: string): Promise<boolean> {
      const [row] = await reader.query<{ plan: string }>(statement`
        SELECT plan FROM builds WHERE environment_id = ${environmentId} AND plan IS NOT NULL ORDER BY id DESC LIMIT 1`)
      return row !== undefined && needsPrograms(JSON.parse(row.plan))
    },

    async list({ accountId, environmentId }: BuildPath, page: Page): Promise<PageOf<Build>> {
      const rows = await sql.query<BuildRow>(statement`
        SELECT ${columns} FROM builds
        WHERE account_id = ${accountId} AND environment_id = ${environmentId} AND ${page.after} ${page.order}`)
      const builds: Build[] = []
      for (const row of rows) {
        if (builds.length % ROWS_AT_A_TIME === ROWS_AT_A_TIME - 1) await turn()
        builds.push(asBuild(row))
      }
      return pageOf(builds, page)
    },

    /** The newest of each environment, for as many as a page has: one statement, without plans. */
    async latestOf(environmentIds: readonly string[]): Promise<Map<string, LatestBuild>> {
      if (environmentIds.length === 0) return new Map()
      const rows = await sql.query<LatestRow>(statement`
        SELECT id, environment_id, trigger_name, state, phase, failure, is_held, create_time, finish_time FROM builds
        WHERE id IN (
          SELECT (SELECT b.id FROM builds b WHERE b.environment_id = e.id ORDER BY b.id DESC LIMIT 1)
          FROM environments e WHERE e.id IN (${list(environmentIds)}))`)
      return new Map(rows.map((row) => [row.environment_id, toLatest(row)]))
    },

    async all({ accountId, environmentId }: BuildPath): Promise<Pick<Build, 'id'>[]> {
      return sql.query<{ id: string }>(
        statement`SELECT id FROM builds WHERE account_id = ${accountId} AND environment_id = ${environmentId}`,
      )
    },

    /** Outputs that no build of another environment has too. */
    async outputsOnlyOf({ environmentId }: BuildPath): Promise<Digest[]> {
      const rows = await sql.query<{ output_digest: Digest }>(statement`
        SELECT DISTINCT output_digest FROM builds mine
        WHERE environment_id = ${environmentId} AND output_digest IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM builds other
          WHERE other.output_digest = mine.output_digest AND other.environment_id <> ${environmentId})`)
      return rows.map(({ output_digest }) => output_digest)
    },

    async begin(id: string) {
      await change(
        id,
        statement`state = 'RUNNING', first_failure = NULL, start_time = COALESCE(start_time, ${clock.now()})`,
      )
    },
    async enter(id: string, phase: resources.Phase, durations: Build['durations']) {
      await change(id, statement`phase = ${phase}, durations = ${JSON.stringify(durations)}`)
    },
    async planned(id: string, plan: Plan) {
      await change(id, statement`plan = ${JSON.stringify(plan)}`)
    },
    async equipped(id: string, tools: Exact) {
      await change(id, statement`tools = ${JSON.stringify(tools)}`)
    },
    async contacted(id: string, contacts: Contacts) {
      await change(id, statement`contacts = ${JSON.stringify(contacts)}`)
    },
    /** The keys of all contacts of the builds before it. Several, since one that installs nothing does not call the registry. */
    async contactsBefore(environmentId: string, id: string): Promise<ReadonlySet<string> | undefined> {
      const before = await sql.query<{ id: string }>(statement`
        SELECT id FROM builds WHERE environment_id = ${environmentId} AND id < ${id} AND contacts IS NOT NULL
        ORDER BY id DESC LIMIT ${PREDECESSORS}`)
      const keys = new Set<string>()
      // One at a time: each is read in a moment, and others have their turn in between.
      for (const { id } of before) {
        const [row] = await sql.query<{ contacts: string | null }>(
          statement`SELECT contacts FROM builds WHERE id = ${id}`,
        )
        for (const contact of JSON.parse(row?.contacts ?? '[]') as Contacts) keys.add(contactKey(contact))
      }
      return before.length === 0 ? undefined : keys
    },
    /** Told as soon as it is known, while the second attempt goes on. */
    async retried(id: string, first: FirstFailure) {
      await change(id, statement`first_failure = ${JSON.stringify(first)}`)
    },
    async used(id: string, caches: readonly CacheUse[]) {
      await change(id, statement`caches = ${JSON.stringify(caches)}`)
    },
    async built(id: string, output: Digest, { bytes, files }: Size) {
      await change(id, statement`output_digest = ${output}, output_bytes = ${bytes}, output_files = ${files}`)
    },
    /** Whether the packages were still there to be claimed. */
    async claimPackages(tx: Transaction, id: string, packagesId: string): Promise<boolean> {
      const claimed = await tx.query(statement`
        UPDATE builds SET packages_id = ${packagesId}
        WHERE id = ${id} AND EXISTS (SELECT 1 FROM packages WHERE packages.id = ${packagesId}) RETURNING id`)
      return claimed.length > 0
    },

    /** Of earlier builds that failed, at most one keeps packages: each may have had a lockfile of its own. */
    async letGoOfFailed(environmentId: string, exceptId: string) {
      await sql.transaction((tx) =>
        tx.query(statement`
          UPDATE builds SET packages_id = NULL
          WHERE environment_id = ${environmentId} AND id <> ${exceptId} AND packages_id IS NOT NULL
          AND output_digest IS NULL AND finish_time IS NOT NULL`),
      )
    },

    /** What the environment's last build was made with. */
    async lastTools(environmentId: string): Promise<Exact | undefined> {
      const [row] = await sql.query<{ tools: string }>(statement`
        SELECT tools FROM builds WHERE environment_id = ${environmentId} AND tools IS NOT NULL ORDER BY id DESC LIMIT 1`)
      return row && JSON.parse(row.tools)
    },

    /** Of all builds that can still be made live. */
    async toolsInUse(): Promise<Exact[]> {
      const rows = await sql.query<{ tools: string }>(
        statement`SELECT DISTINCT tools FROM builds WHERE tools IS NOT NULL AND output_digest IS NOT NULL`,
      )
      return rows.map(({ tools }) => JSON.parse(tools))
    },

    /** The last one that went well and was not held, before another. */
    async lastGood(environmentId: string, before: string): Promise<Build | undefined> {
      const [row] = await sql.query<BuildRow>(statement`
        SELECT ${columns} FROM builds
        WHERE environment_id = ${environmentId} AND id < ${before} AND state = 'SUCCEEDED' AND is_held = 0
        ORDER BY id DESC LIMIT 1`)
      return row && asBuild(row)
    },

    /**
     * Only one end: a build that is over stays as it is. Without an output it keeps the packages that it installed for the
     * next build, unless no lockfile pins them: those are not found again.
     */
    async end(
      tx: Transaction,
      id: string,
      ended: {
        state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
        durations: Build['durations']
        failure: Failure | null
        isUnchanged?: boolean
        suspected?: Suspected | undefined
        isHeld?: boolean
      },
    ) {
      const set = statement`state = ${ended.state}, phase = 'DONE', durations = ${JSON.stringify(ended.durations)},
        failure = ${ended.failure ? JSON.stringify(ended.failure) : null}, finish_time = ${clock.now()},
        is_unchanged = ${ended.isUnchanged ? 1 : 0}, is_held = ${ended.isHeld ? 1 : 0},
        suspicion = ${ended.suspected ? JSON.stringify(ended.suspected) : null},
        packages_id = CASE WHEN output_digest IS NULL AND packages_id IN (SELECT id FROM packages WHERE wanted = id)
          THEN NULL ELSE packages_id END`
      await changeAndNotify(tx, statement`UPDATE builds SET ${set} WHERE id = ${id} AND finish_time IS NULL`)
    },

    async makeClean(tx: Transaction, id: string) {
      await tx.query(statement`
        UPDATE builds SET trigger_name = 'CLEAN_REBUILD' WHERE id = ${id} AND trigger_name = 'REBUILD'`)
      await changeAndNotify(tx, statement`UPDATE builds SET is_clean = 1 WHERE id = ${id} AND start_time IS NULL`)
    },

    /** One that waits is made live, whatever its output will look like. */
    async makeForced(tx: Transaction, id: string) {
      await changeAndNotify(tx, statement`UPDATE builds SET is_forced = 1 WHERE id = ${id} AND start_time IS NULL`)
    },

    /** Its outputs are gone, and nothing of it runs any more. */
    async forgetPackages(environmentId: string) {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE builds SET packages_id = NULL WHERE environment_id = ${environmentId}`),
      )
    },

    async removeAll(tx: Transaction, environmentId: string) {
      await tx.query(statement`DELETE FROM builds WHERE environment_id = ${environmentId}`)
    },

    ...createBuildBatches({ sql }),
  }
}

export type Builds = ReturnType<typeof createBuilds>

/** Undefined where there is none. */
export async function newestBuildId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM builds`)
  return row?.id ?? undefined
}

const toBuild = (row: BuildRow, now: number): Build => {
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
    requestedBy: row.requested_by === null ? null : JSON.parse(row.requested_by),
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

const toArchive = (row: BuildRow): Archive => ({
  digest: row.archive_digest,
  bytes: row.archive_bytes,
  files: row.archive_files,
  message: row.message,
  commit: row.git_commit === null ? null : JSON.parse(row.git_commit),
})

const toLatest = (row: LatestRow): LatestBuild => ({
  id: row.id,
  trigger: row.trigger_name,
  state: row.state,
  phase: row.phase,
  reason: row.is_held === 1 ? 'SUSPICIOUS_OUTPUT' : row.failure === null ? undefined : JSON.parse(row.failure).reason,
  createTime: row.create_time,
  finishTime: row.finish_time,
})
