/**
 * Runs what is due. The leader does it, and the row moves to its next time in the transaction that requests the build: so a
 * run is requested exactly once, whatever dies when. A purge may be done twice, and is recorded once. A time that passed while
 * the service was down is caught up once, however many there were.
 */
import type { Account, Accounts } from '../accounts/index.ts'
import type { Environment, Environments } from '../apps/index.ts'
import type { Clock, Log } from '../base/index.ts'
import { PROBLEMS, Problem, type resources } from '../contract/index.ts'
import type { BuildRequests, ClearCache } from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import { LeadershipLost, type Sql, type Term, type Transaction } from '../storage/index.ts'
import type { Asked, Ledger } from '../triggers/index.ts'
import { timesOf } from './cron.ts'
import type { ScheduleRecord, ScheduleRecords } from './records.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  records: ScheduleRecords
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'announce' | 'satisfiersOf' | 'unfinishedOf'>
  ledger: Ledger
  buildRequests: Pick<BuildRequests, 'rebuild'>
  clearCache: ClearCache
  /** Throws if a build could not begin. */
  admitBuild(account: Account, environmentId: string): Promise<void>
  /** That of this process as the leader. */
  term: Pick<Term, 'check'>
}

/** Another control process may have made a schedule, so the leader looks at least this often. */
const LOOK_MS = 5000
/** Runs that are requested at a time. */
const AT_ONCE = 8

/** It was changed, deleted or run in the meantime. */
class NotDue extends Error {}

export function createScheduleRuns(parts: Parts) {
  const { sql, clock, log, records, accounts, environments, operations, ledger, buildRequests, clearCache } = parts

  async function round(): Promise<void> {
    const due = await records.due(clock.now())
    const take = async () => {
      for (let next = due.shift(); next; next = due.shift()) await attempt(next)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, take))
  }

  /** One that cannot be run, as the database is away, is due again at the next look. */
  async function attempt(schedule: ScheduleRecord) {
    try {
      await run(schedule)
    } catch (error) {
      if (error instanceof LeadershipLost || error instanceof NotDue) return
      log.error({ err: error, schedule: schedule.id }, 'a schedule could not be run')
    }
  }

  async function run(schedule: ScheduleRecord) {
    const environment = await environments.byId(sql, schedule.environmentId)
    // Deleted with its environment in a moment.
    if (!environment || environment.state === 'DELETING') return
    const account = await accounts.requireById(sql, environment.accountId)
    const asked = askedBy(schedule, clock.now())
    try {
      await request(schedule, { account, environment, asked })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      await refuse(schedule, asked, error)
    }
  }

  type Wanted = { account: Account; environment: Environment; asked: Asked }

  async function request(schedule: ScheduleRecord, { account, environment, asked }: Wanted) {
    const { id: environmentId, appName } = environment
    const at = { account, appName, environmentId }
    if (schedule.action === 'PURGE_CACHE') {
      await clearCache(at, {}, [asked], (tx, { id }) => move(tx, schedule, asked.time, id))
      return
    }
    await parts.admitBuild(account, environmentId)
    await sql.transaction(async (tx) => {
      await requireNoOverlap(tx, schedule)
      const operation = await buildRequests.rebuild(tx, at, { asked: [asked] })
      await move(tx, schedule, asked.time, operation.id)
    })
    operations.announce()
  }

  /** A build that takes longer than the time between two runs would otherwise fill the queue for ever. */
  async function requireNoOverlap(tx: Transaction, { environmentId, lastOperation }: ScheduleRecord) {
    if (lastOperation === null) return
    const doing = (await operations.satisfiersOf([lastOperation])).get(lastOperation) ?? lastOperation
    const unfinished = await operations.unfinishedOf(tx, environmentId)
    if (unfinished.some(({ id }) => id === doing)) throw new Problem('SCHEDULE_OVERLAPS')
  }

  /** The reason is in the triggers of the environment, and the schedule goes on with its next time. */
  async function refuse(schedule: ScheduleRecord, asked: Asked, { reason }: Problem) {
    await sql.transaction(async (tx) => {
      const operation = reason === 'SCHEDULE_OVERLAPS' ? schedule.lastOperation : null
      await move(tx, schedule, asked.time, operation)
      await ledger.add(tx, schedule.environmentId, [asked], { answer: PROBLEMS[reason].http, reason })
    })
  }

  async function move(tx: Transaction, schedule: ScheduleRecord, time: number, operation: string | null) {
    await parts.term.check(tx)
    const nextTime = timesOf(schedule).after(time) ?? null
    if (!(await records.ran(tx, schedule, { time, nextTime, operation }))) throw new NotDue()
  }

  async function pauseMs(): Promise<number> {
    const next = (await records.nextTime()) ?? Number.POSITIVE_INFINITY
    return Math.min(Math.max(next - clock.now(), 0), LOOK_MS)
  }

  return {
    round,

    /** Looks for as long as this process leads. */
    start() {
      const stopping = new AbortController()
      const { signal } = stopping
      const done = (async () => {
        while (!signal.aborted) {
          const ms = await round()
            .then(pauseMs)
            .catch((error) => {
              log.error({ err: error }, 'cannot look for schedules that are due')
              return LOOK_MS
            })
          await clock.sleep(Math.max(ms, MIN_PAUSE_MS), signal)
        }
      })()
      return {
        stop() {
          stopping.abort()
          return done
        },
      }
    },
  }
}

/** One that failed is due again at once, and must not be tried without a pause. */
const MIN_PAUSE_MS = 1000

function askedBy({ action, cron, timeZone }: ScheduleRecord, time: number): Asked {
  const requestedBy: resources.Requester = { kind: 'SCHEDULE', name: `${cron} ${timeZone}` }
  return { action, source: 'SCHEDULE', requestedBy, address: '', userAgent: '', time }
}
