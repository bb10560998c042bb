/**
 * When crond of cronie runs an entry, minute by minute as its main loop does, with its rules for changes of the clock of less
 * than three hours: an entry whose minute or hour begins with a star follows the clock; any other runs at once if its time was
 * skipped, and not again if its time comes twice. Slow, simple, and written without a look at the library that the product uses.
 */

const MINUTE_MS = 60_000

/** All times from one to another, both in milliseconds. */
export function crondTimes(expression: string, timeZone: string, { from, to }: { from: number; to: number }): number[] {
  const fields = expression.split(' ')
  const [minutes, hours, days, months, weekdays] = fields.map((field, at) => valuesOf(field, BOUNDS[at] as Bounds))
  if (!minutes || !hours || !days || !months || !weekdays) throw new Error(`not five fields: ${expression}`)
  const isWild = expression.startsWith('*') || fields[1]?.startsWith('*') === true
  const areBothDays = fields[2]?.startsWith('*') || fields[4]?.startsWith('*')

  function matches(local: number): boolean {
    const at = new Date(local * MINUTE_MS)
    const isDay = days?.has(at.getUTCDate()) ?? false
    const isWeekday = weekdays?.has(at.getUTCDay()) ?? false
    return Boolean(
      minutes?.has(at.getUTCMinutes()) &&
        hours?.has(at.getUTCHours()) &&
        months?.has(at.getUTCMonth() + 1) &&
        (areBothDays ? isDay && isWeekday : isDay || isWeekday),
    )
  }

  const localOf = localMinutes(timeZone)
  const first = Math.ceil(from / MINUTE_MS)
  let virtual = localOf(first) - 1
  const times: number[] = []
  for (let minute = first; minute * MINUTE_MS <= to; minute++) {
    const local = localOf(minute)
    let runs = isWild && matches(local)
    // Behind after the clock went forward, ahead after it went back; then fixed entries wait until it has caught up.
    for (; virtual < local; virtual++) if (!isWild && matches(virtual + 1)) runs = true
    if (runs) times.push(minute * MINUTE_MS)
  }
  return times
}

type Bounds = { min: number; max: number }
const BOUNDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12 },
  { min: 0, max: 6 },
]

function valuesOf(field: string, { min, max }: Bounds): Set<number> {
  const values = new Set<number>()
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/')
    const [low, high = low] = range === '*' ? [min, max] : range.split('-').map(Number)
    for (let value = low ?? min; value <= (high ?? max); value += Number(step)) values.add(value)
  }
  return values
}

/** The minutes of the clock on the wall since 1970, by the minutes of UTC. */
function localMinutes(timeZone: string): (minute: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const offsets = new Map<number, number>()
  return (minute) => {
    // No offset changes within a quarter of an hour.
    const quarter = Math.floor(minute / 15)
    let offset = offsets.get(quarter)
    if (offset === undefined) {
      const name =
        format.formatToParts(quarter * 15 * MINUTE_MS).find(({ type }) => type === 'timeZoneName')?.value ?? ''
      const [, sign, hours = '0', rest = '0'] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) ?? []
      offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(rest))
      offsets.set(quarter, offset)
    }
    return minute + offset
  }
}
