/**
 * The clock on the wall in a time zone. Its times are milliseconds since 1970 as if they were UTC. It goes forward and back, so
 * a time on it may never come, or come twice.
 */

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** No zone changes its offset at another minute of an hour. */
const STEP_MS = 15 * MINUTE_MS
/** A clock that goes back further is set to another zone, as crond sees it. */
const MAX_BACK_MS = 3 * 60 * MINUTE_MS

export type WallClock = {
  /** The furthest that the clock had come until then: after it went back, more than it shows. */
  furthestAt(time: number): number
  /** When the clock first shows a time, or a later one if it skips that. */
  firstAt(wall: number): number
}

export function createWallClock(timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })

  /** In milliseconds; `GMT+05:30`, or `GMT` for 0. */
  function offsetAt(time: number): number {
    const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS
  }

  return {
    furthestAt(time) {
      const current = offsetAt(time)
      let furthest = time + current
      if (offsetAt(time - MAX_BACK_MS) <= current) return furthest
      const first = Math.floor(time / STEP_MS) * STEP_MS
      for (let step = first; step > time - MAX_BACK_MS; step -= STEP_MS) {
        const before = step - MINUTE_MS
        furthest = Math.max(furthest, before + offsetAt(before))
      }
      return furthest
    },

    firstAt(wall) {
      const [before, after] = [offsetAt(wall - DAY_MS), offsetAt(wall + DAY_MS)]
      const shown = [wall - before, wall - after].filter((time) => time + offsetAt(time) === wall)
      if (shown.length > 0) return Math.min(...shown)
      let change = Math.ceil((wall - after) / STEP_MS) * STEP_MS
      while (change + offsetAt(change) < wall) change += STEP_MS
      return change
    },
  }
}
