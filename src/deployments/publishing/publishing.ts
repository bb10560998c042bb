/**
 * Records publishes, from what is recorded of their parts: the calls in the ledger, the build, the operation. A failure here must
 * not keep a deployment from going live, nor a purge from being done.
 */
import type { Accounts } from '../../accounts/index.ts'
import type { EnvironmentHead, Environments } from '../../apps/index.ts'
import type { Clock, Log } from '../../base/index.ts'
import type { Build, Builds } from '../../builds/index.ts'
import { Problem, type Reason, type resources } from '../../contract/index.ts'
import type { Ending, OperationRecord, Operations } from '../../operations/index.ts'
import { isLate, type NewPublish, type Publish, type PublishRecords } from '../../publishes/index.ts'
import type { Reader, Sql, Transaction } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'
import { type LateNotice, lateNotice } from './late-notice.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'satisfiedBy'>
  builds: Pick<Builds, 'ofOperation'>
  ledger: Pick<Ledger, 'callsOf'>
  records: PublishRecords
  recordNotice(tx: Transaction, notice: LateNotice): Promise<void>
}

const OF_BUILDS: ReadonlySet<resources.Trigger> = new Set<resources.Trigger>(['UPLOAD', 'REBUILD', 'CLEAN_REBUILD'])

/** A purge on its way: its row is written before edges are told, as a visitor may be quicker than the last edge. */
export type PurgePublish = {
  id: string
  begin(tx: Transaction): Promise<void>
  done(tx: Transaction, operationId: string): Promise<void>
  failed(error: unknown): Promise<void>
}

/** A build that is being switched to. */
export type BuildPublish = {
  /** Part of the transaction that makes the deployment live. */
  switched(tx: Transaction, deploymentId: string): Promise<void>
  /** Every edge uses it. */
  visible(): Promise<void>
}

export function createPublishing(parts: Parts) {
  const { sql, clock, log, environments, operations, builds, ledger, records } = parts

  /** When it was called for first, and how often, with the calls of operations whose work it does. */
  async function callsOf(reader: Reader, operationId: string, requestTime: number) {
    const others = await operations.satisfiedBy(operationId, reader)
    const { count, first } = await ledger.callsOf(reader, [operationId, ...others])
    return { calls: Math.max(1, count), callTime: Math.min(requestTime, first ?? requestTime) }
  }

  async function ofBuild(reader: Reader, operationId: string, build: Build) {
    const { id: buildId, environmentId, trigger, createTime, startTime } = build
    const calls = await callsOf(reader, operationId, createTime)
    return { kind: 'BUILD', environmentId, trigger, operationId, buildId, beginTime: startTime, ...calls } as const
  }

  async function tellIfLate(tx: Transaction, publish: Publish | undefined) {
    if (!publish || !isLate(publish)) return
    const environment = await environments.byId(tx, publish.environmentId)
    if (!environment) return
    const account = await parts.accounts.requireById(tx, environment.accountId)
    await parts.recordNotice(tx, lateNotice(publish, environment, account.name))
  }

  const reported = (error: unknown, operation: string) =>
    log.error({ err: error, operation }, 'the times of a publish could not be recorded')

  return {
    /** Before a deployment is switched to. Undefined where that is no publish, as when variables change. */
    async switching(environment: EnvironmentHead, operationId: string): Promise<BuildPublish | undefined> {
      try {
        const build = await builds.ofOperation(sql, operationId)
        if (!build || !OF_BUILDS.has(build.trigger)) return undefined
        const { publishPromiseSeconds: promiseSeconds } = environment
        // The app was started since the build ended; the phase that was left last is in the record.
        const builtTime = clock.now() - (build.durations.STARTING ?? 0)
        const facts = await ofBuild(sql, operationId, build)
        return {
          switched: (tx, deploymentId) =>
            records.insert(tx, { ...facts, deploymentId, state: 'UNDER_WAY', builtTime, promiseSeconds }),
          async visible() {
            const time = clock.now()
            await sql
              .transaction(async (tx) => tellIfLate(tx, await records.buildVisible(tx, operationId, time)))
              .catch((error) => reported(error, operationId))
          },
        }
      } catch (error) {
        reported(error, operationId)
        return undefined
      }
    },

    /** After an operation ended, whatever it was. */
    async ended(tx: Transaction, operation: OperationRecord, ending: Ending): Promise<void> {
      const { id, trigger } = operation
      if (!OF_BUILDS.has(trigger)) return
      if (await records.isRecorded(tx, id)) {
        // Usually it is recorded as visible already.
        if ('response' in ending) await tellIfLate(tx, await records.buildVisible(tx, id, clock.now()))
        return
      }
      const build = await builds.ofOperation(tx, id)
      const reason = 'error' in ending ? ending.error.reason : null
      const state = build && stateOf(build, reason)
      if (!build || !state) return
      const builtTime = build.state === 'SUCCEEDED' ? build.finishTime : null
      const facts = await ofBuild(tx, id, build)
      await records.insert(tx, { ...facts, state, builtTime, endTime: clock.now(), ...(reason ? { reason } : {}) })
    },

    /** A build that waited was called off, by a newer upload or by a user. */
    async calledOff(
      tx: Transaction,
      { id, trigger, environmentId, build, createTime }: OperationRecord,
      reason: Reason,
    ) {
      const state = reason === 'SUPERSEDED' ? 'SUPERSEDED' : 'CANCELLED'
      const ended: NewPublish = {
        ...{ kind: 'BUILD', environmentId, trigger, operationId: id, buildId: build, calls: 1, callTime: createTime },
        ...{ state, reason, endTime: clock.now() },
      }
      await records.insert(tx, ended)
    },

    /** Before the cache is purged for these callers. */
    purging(environment: EnvironmentHead, asked: readonly Asked[]): PurgePublish {
      const id = records.newId()
      const now = clock.now()
      return {
        id,
        begin: (tx) =>
          records.beginPurge(tx, {
            ...{ id, environmentId: environment.id, kind: 'PURGE', trigger: 'PURGE_CACHE', state: 'UNDER_WAY' },
            calls: Math.max(1, asked.length),
            callTime: Math.min(now, ...asked.map(({ time }) => time)),
            beginTime: now,
            promiseSeconds: environment.publishPromiseSeconds,
          }),
        done: async (tx, operationId) => tellIfLate(tx, await records.purgeVisible(tx, id, operationId)),
        async failed(error) {
          const reason = error instanceof Problem ? error.reason : 'INTERNAL'
          await sql.transaction((tx) => records.purgeFailed(tx, id, reason)).catch((fault) => reported(fault, ''))
        },
      }
    },
  }
}

export type Publishing = ReturnType<typeof createPublishing>

/** Undefined where it is no publish: the environment was deleted, or it went live and was not recorded. */
function stateOf(
  { isUnchanged, isHeld }: Pick<Build, 'isUnchanged' | 'isHeld'>,
  reason: Reason | null,
): resources.PublishState | undefined {
  if (isHeld) return 'HELD'
  switch (reason) {
    case null:
      return isUnchanged ? 'UNCHANGED' : undefined
    case 'ENVIRONMENT_NOT_FOUND':
      return undefined
    case 'OPERATION_CANCELLED':
      return 'CANCELLED'
    case 'SUPERSEDED':
      return 'SUPERSEDED'
    default:
      return 'FAILED'
  }
}
