/** The records of builds: how they change. `read.ts` reads and lists them; `build.ts` has the states. */
import type { NewId } from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'
import { type Digest, type NotifyBelow, statement, type Transaction } from '../../storage/index.ts'
import type { Plan } from '../plan/plan.ts'
import type { CacheUse } from '../run/caches.ts'
import { UNLOCKED } from '../run/packages.ts'
import type { Size } from '../run/untrusted-folder.ts'
import type { Exact } from '../toolchain/exact.ts'
import { createBuildBatches } from './batches.ts'
import type {
  Build,
  BuildInputs,
  BuildPath,
  Contacts,
  FromSnapshot,
  HeldReason,
  Promotion,
  SourceArchive,
  Suspected,
} from './build.ts'
import type { Failure, FirstFailure } from './failure.ts'
import { createBuildReads, type ReadParts } from './read.ts'

type NewBuild = {
  id: string
  operationId: string
  trigger: resources.Trigger
  isClean: boolean
  isForced?: boolean
  archive: SourceArchive
}

type BuildEnding = {
  state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  durations: Build['durations']
  failure: Failure | null
  isUnchanged?: boolean
  suspected?: Suspected | undefined
  /** Given if it is held. */
  heldReason?: HeldReason | undefined
}

type Parts = ReadParts & { newId: NewId; notifyBelow: NotifyBelow }

export function createBuilds({ newId, notifyBelow, ...parts }: Parts) {
  const { sql, clock } = parts

  async function changeAndNotify(tx: Transaction, update: ReturnType<typeof statement>) {
    const changed = await tx.query<{ id: string; environment_id: string }>(
      statement`${update} RETURNING id, environment_id`,
    )
    for (const { id, environment_id } of changed) await notifyBelow(tx, environment_id, `builds/${id}`)
  }

  async function change(id: string, set: ReturnType<typeof statement>) {
    await sql.transaction((tx) => changeAndNotify(tx, statement`UPDATE builds SET ${set} WHERE id = ${id}`))
  }

  return {
    newId,
    ...createBuildReads(parts),

    async insert(tx: Transaction, { accountId, environmentId }: BuildPath, build: NewBuild) {
      const { id, operationId, trigger, isClean, isForced = false, archive } = build
      await tx.query(statement`
        INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, is_forced, archive_digest,
          archive_bytes, archive_files, message, git_commit, promoted_from, state, phase, durations,
          create_time)
        VALUES (${id}, ${accountId}, ${environmentId}, ${operationId}, ${trigger}, ${isClean ? 1 : 0},
          ${isForced ? 1 : 0}, ${archive.digest}, ${archive.bytes}, ${archive.files}, ${archive.message ?? ''},
          ${archive.commit ? JSON.stringify(archive.commit) : null},
          ${archive.promotion ? JSON.stringify(archive.promotion) : null}, 'QUEUED', 'QUEUED', '{}', ${clock.now()})`)
      await notifyBelow(tx, environmentId, `builds/${id}`)
    },

    /**
     * Records the output of a build as one of another environment too: it stays when the other environment is deleted. The time
     * of its start stays that of the build, since that says how old its content is.
     */
    async insertPromoted(
      tx: Transaction,
      { accountId, environmentId }: BuildPath,
      { id, operationId, promotion }: { id: string; operationId: string; promotion: Promotion },
    ) {
      await tx.query(statement`
        INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, is_forced, archive_digest,
          archive_bytes, archive_files, message, git_commit, promoted_from, state, phase, plan, tools, inputs, output_digest,
          output_bytes, output_files, packages_id, from_snapshot, durations, create_time, start_time, finish_time)
        SELECT ${id}, ${accountId}, ${environmentId}, ${operationId}, 'PROMOTE', 0, 0, archive_digest, archive_bytes,
          archive_files, message, git_commit, ${JSON.stringify(promotion)}, 'SUCCEEDED', 'DONE', plan, tools, inputs,
          output_digest, output_bytes, output_files, packages_id, from_snapshot, '{}', ${clock.now()}, start_time, ${clock.now()}
        FROM builds WHERE id = ${promotion.build} AND account_id = ${accountId} AND output_digest IS NOT NULL`)
      await notifyBelow(tx, environmentId, `builds/${id}`)
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
    async seen(id: string, inputs: BuildInputs) {
      await change(id, statement`inputs = ${JSON.stringify(inputs)}`)
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
    /** Recorded at once, so that the tenant sees it while the second attempt runs. */
    async retried(id: string, first: FirstFailure) {
      await change(id, statement`first_failure = ${JSON.stringify(first)}`)
    },
    async madeFromSnapshot(id: string, from: FromSnapshot | null) {
      await change(id, statement`from_snapshot = ${from && JSON.stringify(from)}`)
    },
    async used(id: string, caches: readonly CacheUse[]) {
      await change(id, statement`caches = ${JSON.stringify(caches)}`)
    },
    async built(id: string, output: Digest, { bytes, files }: Size) {
      await change(id, statement`output_digest = ${output}, output_bytes = ${bytes}, output_files = ${files}`)
    },

    /** Whether the packages still existed. */
    async claimPackages(tx: Transaction, id: string, packagesId: string): Promise<boolean> {
      const claimed = await tx.query(statement`
        UPDATE builds SET packages_id = ${packagesId}
        WHERE id = ${id} AND EXISTS (SELECT 1 FROM packages WHERE packages.id = ${packagesId}) RETURNING id`)
      return claimed.length > 0
    },

    /** Of earlier builds that failed, at most one keeps packages: each may have had a lockfile of its own. */
    async releasePackagesOfFailed(environmentId: string, exceptId: string) {
      await sql.transaction((tx) =>
        tx.query(statement`
          UPDATE builds SET packages_id = NULL
          WHERE environment_id = ${environmentId} AND id <> ${exceptId} AND packages_id IS NOT NULL
          AND output_digest IS NULL AND finish_time IS NOT NULL`),
      )
    },

    /**
     * A build ends once: one that is over stays as it is. Without an output it keeps the packages that it installed for the
     * next build, unless the app has no lockfile: the next build would not find those.
     */
    async end(tx: Transaction, id: string, ended: BuildEnding) {
      const set = statement`state = ${ended.state}, phase = 'DONE', durations = ${JSON.stringify(ended.durations)},
        failure = ${ended.failure ? JSON.stringify(ended.failure) : null}, finish_time = ${clock.now()},
        is_unchanged = ${ended.isUnchanged ? 1 : 0}, is_held = ${ended.heldReason ? 1 : 0}, held_reason = ${ended.heldReason ?? null},
        suspicion = ${ended.suspected ? JSON.stringify(ended.suspected) : null},
        packages_id = CASE WHEN output_digest IS NULL AND packages_id IN (
          SELECT id FROM packages WHERE wanted = id OR wanted LIKE ${`${UNLOCKED}%`})
          THEN NULL ELSE packages_id END`
      await changeAndNotify(tx, statement`UPDATE builds SET ${set} WHERE id = ${id} AND finish_time IS NULL`)
    },

    /** What was found about a promoted build, which had ended before. With `heldReason` it is held. */
    async judged(
      tx: Transaction,
      id: string,
      { heldReason, suspected }: Pick<BuildEnding, 'heldReason' | 'suspected'>,
    ) {
      await changeAndNotify(
        tx,
        statement`UPDATE builds SET is_held = ${heldReason ? 1 : 0}, held_reason = ${heldReason ?? null},
          suspicion = ${suspected ? JSON.stringify(suspected) : null} WHERE id = ${id}`,
      )
    },

    async makeClean(tx: Transaction, id: string) {
      await tx.query(statement`
        UPDATE builds SET trigger_name = 'CLEAN_REBUILD' WHERE id = ${id} AND trigger_name = 'REBUILD'`)
      await changeAndNotify(tx, statement`UPDATE builds SET is_clean = 1 WHERE id = ${id} AND start_time IS NULL`)
    },

    /** A build that waits will be made live, whatever its output looks like. */
    async makeForced(tx: Transaction, id: string) {
      await changeAndNotify(tx, statement`UPDATE builds SET is_forced = 1 WHERE id = ${id} AND start_time IS NULL`)
    },

    /** For an environment whose outputs are gone and of which nothing runs any more. */
    async releasePackages(environmentId: string) {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE builds SET packages_id = NULL WHERE environment_id = ${environmentId}`),
      )
    },

    async removeAll(tx: Transaction, environmentId: string) {
      await tx.query(statement`DELETE FROM builds WHERE environment_id = ${environmentId}`)
      await tx.query(statement`DELETE FROM stored_caches WHERE environment_id = ${environmentId}`)
    },

    ...createBuildBatches({ sql }),
  }
}

export type Builds = ReturnType<typeof createBuilds>
