/** Schedules as users make and change them. The leader runs them (`run.ts`). */
import { etagOf, type Preconditions, requireEtag } from '../apps/index.ts'
import { type Clock, toRfc3339 } from '../base/index.ts'
import { LIMITS, names, Problem, type resources } from '../contract/index.ts'
import type { EnvironmentRef } from '../deployments/index.ts'
import type { Page, PageOf, Reader, Sql, Transaction } from '../storage/index.ts'
import { normalize, readCron, timesOf } from './cron.ts'
import type { Plan, ScheduleRecord, ScheduleRecords } from './records.ts'

/** How many of the next times are shown. */
const SHOWN = 5

type Parts = {
  sql: Sql
  clock: Clock
  records: ScheduleRecords
  requireOpen(reader: Reader, ref: EnvironmentRef): Promise<{ path: { appName: string; environmentId: string } }>
}

export function createSchedules({ sql, clock, records, requireOpen }: Parts) {
  const show = (at: names.EnvironmentPath, record: ScheduleRecord) => render(at, record, clock.now())

  /** Also checks the expression. */
  function nextOf({ cron, timeZone, isPaused }: Plan) {
    const now = clock.now()
    const nextTime = readCron(cron, timeZone).after(now) ?? null
    return { nextTime: isPaused ? null : nextTime, now }
  }

  return {
    async list(at: names.EnvironmentPath, page: Page): Promise<PageOf<resources.Schedule>> {
      const { items, nextPageToken } = await records.list(at.environment, page)
      return { items: items.map((record) => show(at, record)), nextPageToken }
    },

    get: async (at: names.EnvironmentPath, id: string): Promise<resources.Schedule> =>
      show(at, await records.require(sql, at.environment, id)),

    create(ref: EnvironmentRef, given: resources.NewSchedule): Promise<resources.Schedule> {
      const { action, cron, timeZone = 'UTC', paused = false } = given
      const plan = { action, cron: normalize(cron), timeZone, isPaused: paused }
      const times = nextOf(plan)
      return sql.transaction(async (tx) => {
        const at = await open(tx, ref)
        if ((await records.count(tx, at.environment)) >= LIMITS.schedules) throw new Problem('TOO_MANY_SCHEDULES')
        return show(at, await records.insert(tx, at.environment, plan, times))
      })
    },

    change(
      ref: EnvironmentRef,
      id: string,
      { given, preconditions }: { given: resources.ChangedSchedule; preconditions: Preconditions },
    ): Promise<resources.Schedule> {
      return sql.transaction(async (tx) => {
        const at = await open(tx, ref)
        const before = await records.require(tx, at.environment, id)
        requireEtag(preconditions, scheduleEtag(before), 'schedule')
        const plan: Plan = {
          action: given.action ?? before.action,
          cron: normalize(given.cron ?? before.cron),
          timeZone: given.timeZone ?? before.timeZone,
          isPaused: given.paused ?? before.isPaused,
        }
        return show(at, await records.update(tx, before, plan, nextOf(plan)))
      })
    },

    remove(ref: EnvironmentRef, id: string, preconditions: Preconditions): Promise<void> {
      return sql.transaction(async (tx) => {
        const before = await records.require(tx, ref.environmentId, id)
        requireEtag(preconditions, scheduleEtag(before), 'schedule')
        await records.remove(tx, before)
      })
    },
  }

  async function open(tx: Transaction, ref: EnvironmentRef): Promise<names.EnvironmentPath> {
    const { path } = await requireOpen(tx, ref)
    return { account: ref.account.name, app: path.appName, environment: path.environmentId }
  }
}

export type Schedules = ReturnType<typeof createSchedules>

const scheduleEtag = ({ id, action, cron, timeZone, isPaused }: ScheduleRecord): string =>
  etagOf([id, action, cron, timeZone, isPaused])

function render(at: names.EnvironmentPath, record: ScheduleRecord, now: number): resources.Schedule {
  const { id, action, cron, timeZone, isPaused, nextTime, lastTime, lastOperation } = record
  // The one that is due comes first, even if its time has passed: it runs in a moment.
  const following = nextTime === null ? [] : timesOf(record).following(Math.max(now, nextTime), SHOWN - 1)
  return {
    name: names.scheduleResource(at, id),
    action,
    cron,
    timeZone,
    paused: isPaused,
    nextTimes: nextTime === null ? [] : [nextTime, ...following].map(toRfc3339),
    ...(lastTime === null ? {} : { lastTime: toRfc3339(lastTime) }),
    lastOperation: lastOperation === null ? '' : names.operationResource(at, lastOperation),
    createTime: toRfc3339(record.createTime),
    updateTime: toRfc3339(record.updateTime),
    etag: scheduleEtag(record),
  }
}
