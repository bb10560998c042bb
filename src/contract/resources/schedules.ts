/** Schedules of an environment: when a rebuild or a purge is requested by the service itself. */
import { etagOf, expectedEtag } from '../etag.ts'
import { LIMITS } from '../limits.ts'
import { array, boolean, object, oneOf, optional, type Static, string, time } from '../schema.ts'
import { TRIGGER_ACTIONS } from './webhooks.ts'

const action = oneOf(TRIGGER_ACTIONS, { description: 'What is requested.' })
const cron = string({
  minLength: 1,
  maxLength: LIMITS.cronLength,
  description:
    'Five fields as in a crontab: minute, hour, day of the month, month, day of the week (`30 3 * * MON-FRI`); or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.',
})
const timeZone = string({
  minLength: 1,
  maxLength: LIMITS.timeZoneLength,
  description:
    'The time zone of the expression, by its IANA name, such as `Europe/Berlin`. Changes of the clock are treated as cron does: a fixed time that is skipped runs right after the change, and one that comes twice runs once.',
})
const paused = boolean({
  description: 'Whether it waits until it is resumed. Times that pass meanwhile are not caught up.',
})

export const schedule = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/schedules/{schedule}`' }),
    action,
    cron,
    timeZone,
    paused,
    nextTimes: array(time('When it runs.'), { description: 'The next five times; none while it is paused.' }),
    lastTime: optional(time('When it ran last.')),
    lastOperation: string({
      description:
        'What its last run requested; empty if it did not run yet, or if the run was refused: the triggers tell why.',
    }),
    createTime: time('When it was made.'),
    updateTime: time('When it was last changed.'),
    etag: etagOf('its action, expression, time zone, or whether it is paused'),
  },
  { title: 'Schedule' },
)
export type Schedule = Static<typeof schedule>

export const newSchedule = object(
  {
    action,
    cron,
    timeZone: optional({ ...timeZone, default: 'UTC' }),
    paused: optional({ ...paused, default: false }),
  },
  { title: 'NewSchedule' },
)
export type NewSchedule = Static<typeof newSchedule>

export const changedSchedule = object(
  {
    action: optional(action),
    cron: optional(cron),
    timeZone: optional(timeZone),
    paused: optional(paused),
    etag: expectedEtag,
  },
  { title: 'ChangedSchedule', description: 'Absent fields keep their values.' },
)
export type ChangedSchedule = Static<typeof changedSchedule>
