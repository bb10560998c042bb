import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CronExpressionParser } from 'cron-parser'
import { crondTimes } from '../../test/support/crond.ts'
import { rounds } from '../../test/support/long.ts'
import { Problem } from '../contract/index.ts'
import { readCron } from './cron.ts'

const HOUR_MS = 60 * 60_000
const COUNT = rounds({ short: 200, long: 1000 })

/** The same ones at every run. */
function randomExpressions(count: number): string[] {
  let seed = 20_261_118
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return seed / 0x7fff_ffff
  }
  const int = (min: number, max: number) => min + Math.floor(random() * (max - min + 1))
  const field = (min: number, max: number, { star, steps }: { star: number; steps: readonly number[] }) => {
    const kind = random()
    if (kind < star) return '*'
    if (kind < star + 0.1) return `*/${steps[int(0, steps.length - 1)]}`
    const [low, high] = [int(min, max - 1), int(min, max)]
    if (kind < star + 0.2 && high > low) return `${low}-${high}`
    if (kind < star + 0.3) return [...new Set([low, high])].sort((a, b) => a - b).join(',')
    return String(low)
  }
  return Array.from({ length: count }, () =>
    [
      field(0, 59, { star: 0.2, steps: [5, 7, 15, 20] }),
      field(0, 5, { star: 0.25, steps: [2, 3] }),
      field(1, 31, { star: 0.65, steps: [2, 5] }),
      field(1, 12, { star: 0.7, steps: [2, 3] }),
      field(0, 6, { star: 0.65, steps: [2] }),
    ].join(' '),
  )
}

/** Changes of the clock, most of them in the small hours: forward and back by an hour, by half an hour, and at midnight. */
const CHANGES: [timeZone: string, at: string][] = [
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-03-08T07:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  ['Africa/Cairo', '2026-04-23T22:00Z'],
  ['Africa/Cairo', '2026-10-29T21:00Z'],
]

test('many expressions run when crond would run them, over changes of the clock', () => {
  for (const [index, expression] of randomExpressions(COUNT).entries()) {
    const [timeZone, at] = CHANGES[index % CHANGES.length] as (typeof CHANGES)[number]
    const [from, to] = [Date.parse(at) - 5 * HOUR_MS, Date.parse(at) + 5 * HOUR_MS]
    const wanted = crondTimes(expression, timeZone, { from, to })
    const times = readCron(expression, timeZone)
    const found: number[] = []
    for (let time = times.after(from - 1); time !== undefined && time <= to; time = times.after(time)) found.push(time)
    assert.deepEqual(found.map(iso), wanted.map(iso), `${expression} in ${timeZone}, ${at}`)
  }
})

test('many expressions have the same next times as another library finds, where no clock changes', () => {
  // The other one takes a star with a step for a restriction of days, which crond does not.
  const hasStepOfDays = (expression: string) =>
    expression.split(' ').some((field, at) => at % 2 === 0 && at > 0 && field.startsWith('*/'))
  for (const expression of randomExpressions(COUNT).filter((one) => !hasStepOfDays(one))) {
    const start = new Date('2026-11-18T11:17:00Z')
    const other = CronExpressionParser.parse(expression, { tz: 'Asia/Kolkata', currentDate: start })
    const wanted = Array.from({ length: 5 }, () => other.next().getTime())
    assert.deepEqual(readCron(expression, 'Asia/Kolkata').following(start.getTime(), 5), wanted, expression)
  }
})

test('a nickname and names of months and days are read as cron does', () => {
  const next = (cron: string) => iso(readCron(cron, 'UTC').after(Date.parse('2026-11-18T11:17:00Z')) ?? 0)
  assert.equal(next('@daily'), '2026-11-19T00:00:00.000Z')
  assert.equal(next('@hourly'), '2026-11-18T12:00:00.000Z')
  assert.equal(next('@weekly'), '2026-11-22T00:00:00.000Z')
  assert.equal(next('@monthly'), '2026-12-01T00:00:00.000Z')
  assert.equal(next('@yearly'), '2027-01-01T00:00:00.000Z')
  assert.equal(next('  0 3 *  jan   Mon-Fri '), '2027-01-01T03:00:00.000Z')
  assert.equal(next('0 0 * * 7'), '2026-11-22T00:00:00.000Z')
})

const REFUSED: [cron: string, why: RegExp][] = [
  ['', /five fields/],
  ['* * * *', /five fields/],
  ['0 0 3 * * *', /five fields/],
  ['@reboot', /one of @hourly/],
  ['60 * * * *', /minute: 60/],
  ['* 24 * * *', /hour: 24/],
  ['*/0 * * * *', /stepping/],
  ['0 0 L * *', /day of the month that cron does not know/],
  ['0 0 * * 5#3', /day of the week that cron does not know/],
  ['0 0 15W * *', /day of the month/],
  ['? * * * *', /minute that cron does not know/],
  ['1,,2 * * * *', /minute that cron does not know/],
  ['0 0 31 2 *', /never comes/],
  ['0 0 30 FEB *', /never comes/],
  ['2026-01-01T00:00:00', /five fields/],
]

test('an expression that cron would not take is refused, with the reason', () => {
  for (const [cron, why] of REFUSED) {
    assert.throws(
      () => readCron(cron, 'UTC'),
      (error) => error instanceof Problem && why.test(error.message),
      cron,
    )
  }
})

test('a time zone that is not known is refused', () => {
  for (const timeZone of ['Mars/Olympus', '', 'CEST+1', '../etc/passwd']) {
    assert.throws(() => readCron('@daily', timeZone), /timeZone/, timeZone)
  }
})

const iso = (time: number) => new Date(time).toISOString()
