/**
 * The three date formats of HTTP (RFC 9110, section 5.6.7), parsed as strictly as caches must (RFC 9111, section 4.2).
 */
import { trimBlanks } from '../../../http/index.ts'
import { remembering } from '../../http/remember.ts'

const DAY = '(?:mon|tue|wed|thu|fri|sat|sun)'
const LONG_DAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day'
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH = `(?<month>${MONTHS.join('|')})`
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)'
// Case-insensitive, and no other time zones (RFC 9111, section 4.2).
const ZONE = '(?:gmt|utc)'

const FORMATS = [
  new RegExp(`^${DAY}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} ${ZONE}$`, 'i'),
  new RegExp(`^${LONG_DAY}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} ${ZONE}$`, 'i'),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`, 'i'),
]

/** Milliseconds since 1970; undefined when it is no HTTP date. */
export const readHttpDate = (value: string | undefined): number | undefined =>
  value === undefined || value.length > MAX_LENGTH ? undefined : readDate(value)

/** The longest format has 33 characters. */
const MAX_LENGTH = 64

const readDate = remembering((value): number | undefined => {
  const text = trimBlanks(value)
  for (const format of FORMATS) {
    const parts = format.exec(text)?.groups
    if (parts) return toMs(parts)
  }
  return undefined
})

function toMs({ year = '', month = '', day = '', hour, minute, second }: Record<string, string>): number | undefined {
  const monthAt = MONTHS.indexOf(month.toLowerCase())
  const ms = Date.UTC(toYear(year), monthAt, Number(day), Number(hour), Number(minute), Number(second))
  // The 31st of February is invalid; the second 60 of a minute is the first of the next minute.
  const hasThatDay = new Date(Date.UTC(toYear(year), monthAt, Number(day))).getUTCDate() === Number(day)
  return hasThatDay ? ms : undefined
}

/**
 * A two-digit year below 70 is of this century. The threshold of the RFC moves with the present year; this one serves
 * until 2070.
 */
function toYear(digits: string): number {
  const year = Number(digits)
  if (digits.length > 2) return year
  return year < 70 ? 2000 + year : 1900 + year
}

export const writeHttpDate = (ms: number): string => new Date(ms).toUTCString()
