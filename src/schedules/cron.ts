/**
 * Cron expressions: five fields or a nickname, in a time zone. Only what crontab(5) knows is accepted; the library reads more,
 * such as seconds and the last day of a month, which no other cron would understand.
 */
import { Cron } from 'croner'
import { fieldInvalid } from '../contract/index.ts'
import { createWallClock } from './wall-clock.ts'

export type CronTimes = {
  /** The first time after another one; undefined if there is none. */
  after(time: number): number | undefined
  /** The next ones after a time, up to `count`. */
  following(time: number, count: number): number[]
}

const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'] as const
const MONTHS = 'JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC'
const DAYS = 'SUN|MON|TUE|WED|THU|FRI|SAT'

/** A list of numbers, ranges and steps. The library checks what the numbers are. */
const fieldOf = (names: string) => {
  const value = names === '' ? '\\d{1,2}' : `(?:\\d{1,2}|${names})`
  const part = `(?:\\*(?:/\\d{1,2})?|${value}(?:-${value}(?:/\\d{1,2})?)?)`
  return new RegExp(`^${part}(?:,${part})*$`, 'i')
}
const FIELDS: [name: string, form: RegExp][] = [
  ['minute', fieldOf('')],
  ['hour', fieldOf('')],
  ['day of the month', fieldOf('')],
  ['month', fieldOf(MONTHS)],
  ['day of the week', fieldOf(DAYS)],
]

/** Throws a problem that names the field of the request which is wrong. */
export function readCron(expression: string, timeZone: string): CronTimes {
  requireTimeZone(timeZone)
  const text = normalize(expression)
  const after = isWild(text) ? byTheClock(text, timeZone) : byTheWall(text, timeZone)
  // Each day of each month comes within eight years, the 29th of February included.
  if (after(0) === undefined) throw fieldInvalid('cron', 'names a day that never comes')
  return {
    after,
    following(time, count) {
      const found: number[] = []
      for (let next = after(time); next !== undefined && found.length < count; next = after(next)) found.push(next)
      return found
    },
  }
}

/** Of a stored expression, which another version may have accepted: one that cannot be read has no times. */
export function timesOf(stored: { cron: string; timeZone: string }): CronTimes {
  try {
    return readCron(stored.cron, stored.timeZone)
  } catch {
    return { after: () => undefined, following: () => [] }
  }
}

/** Whether it follows the clock, whatever that does: where the minute or the hour begins with a star, as crond has it. */
function isWild(text: string): boolean {
  const [minute, hour] = text.split(' ')
  return text === '@hourly' || minute?.startsWith('*') === true || hour?.startsWith('*') === true
}

function byTheClock(text: string, timeZone: string): CronTimes['after'] {
  const cron = parse(text, timeZone)
  return (time) => cron.nextRun(new Date(time))?.getTime()
}

/** A fixed time that the clock skips comes with the change; one that it shows twice comes the first time. */
function byTheWall(text: string, timeZone: string): CronTimes['after'] {
  const [cron, wall] = [parse(text, 'UTC'), createWallClock(timeZone)]
  return (time) => {
    const next = cron.nextRun(new Date(wall.furthestAt(time)))
    return next ? wall.firstAt(next.getTime()) : undefined
  }
}

/** With one blank between its fields. */
export const normalize = (expression: string): string => expression.trim().split(/\s+/).join(' ')

function parse(text: string, timezone: string): Cron {
  if (text.startsWith('@')) {
    if (!NICKNAMES.some((nickname) => nickname === text.toLowerCase())) {
      throw fieldInvalid('cron', `must be five fields, or one of ${NICKNAMES.join(', ')}`)
    }
  } else {
    const fields = text.split(' ')
    if (fields.length !== FIELDS.length) {
      throw fieldInvalid('cron', `must have five fields, such as '30 3 * * *', or be a nickname, such as @daily`)
    }
    for (const [index, [name, form]] of FIELDS.entries()) {
      if (!form.test(fields[index] ?? '')) throw fieldInvalid('cron', `has a ${name} that cron does not know`)
    }
  }
  try {
    return new Cron(text, { timezone, mode: '5-part', paused: true, domAndDow: hasStarDay(text) })
  } catch (error) {
    throw fieldInvalid('cron', `is not one that cron knows: ${(error as Error).message.replace(/^CronPattern: /, '')}`)
  }
}

/** Two days are alternatives (`1 * MON`: both the first and each Monday), unless one of them begins with a star, as in crontab(5). */
function hasStarDay(text: string): boolean {
  const [, , day, , weekday] = text.split(' ')
  return Boolean(day?.startsWith('*') || weekday?.startsWith('*'))
}

function requireTimeZone(timeZone: string) {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw fieldInvalid('timeZone', 'must be a name of the IANA time zone database, such as UTC or Europe/Berlin')
  }
}
