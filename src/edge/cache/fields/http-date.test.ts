import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHttpDate, writeHttpDate } from './http-date.ts'

const DATES: [what: string, text: string, ms: number][] = [
  ['the preferred format', 'Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['that of RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['that of RFC 850 in this century', 'Thursday, 18-Aug-50 02:01:18 GMT', Date.UTC(2050, 7, 18, 2, 1, 18)],
  ['that of asctime()', 'Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['letters of another case', 'THU, 18 aug 2050 02:01:18 gMT', Date.UTC(2050, 7, 18, 2, 1, 18)],
  ['UTC as a zone', 'Thu, 18 Aug 2050 02:01:18 UTC', Date.UTC(2050, 7, 18, 2, 1, 18)],
  ['a time beyond 32 bits', 'Sun, 21 Nov 2286 04:46:39 GMT', Date.UTC(2286, 10, 21, 4, 46, 39)],
  ['a leap second', 'Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
  ['the 29th of February of a leap year', 'Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
]

for (const [what, text, ms] of DATES) test(`a date is read: ${what}`, () => assert.equal(readHttpDate(text), ms))

const NONE = [
  '0',
  '',
  '-1',
  'foo',
  '2050-08-18T02:01:18Z',
  'Thu 18 Aug 2050 02:01:18 GMT',
  'Thu, 18 Aug 50 02:01:18 GMT',
  'Thu, 18  Aug  2050 02:01:18 GMT',
  'Thu, 18-Aug-2050 02:01:18 GMT',
  'Thu, 18 Aug 2050 02.01.18 GMT',
  'Thu, 18 Aug 2050 2:01:18 GMT',
  'Thu, 18 Aug 2050 02:01:18 AEST',
  'Thu, 18 Aug 2050 02:01:18 +0000',
  'Thu, 18 Aug 2050 24:00:00 GMT',
  'Wed, 31 Feb 2024 00:00:00 GMT',
  'Thu, 29 Feb 2023 00:00:00 GMT',
  'Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:19 GMT',
]

for (const text of NONE) test(`'${text}' is no date`, () => assert.equal(readHttpDate(text), undefined))

test('a date is written as it is read', () => {
  const ms = Date.UTC(2026, 1, 3, 4, 5, 6)
  assert.equal(writeHttpDate(ms), 'Tue, 03 Feb 2026 04:05:06 GMT')
  assert.equal(readHttpDate(writeHttpDate(ms + 789)), ms)
})
