import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Failure } from './failure.ts'
import { afterFailure, afterIssue, afterRenewalInfo, nextStep, type Scheduled } from './schedule.ts'

const [MINUTE, DAY] = [60_000, 24 * 3600 * 1000]
const NOW = Date.UTC(2027, 0, 1)
const VALID = { notBefore: NOW, notAfter: NOW + 90 * DAY }
const NONE: Scheduled = {
  state: 'PENDING',
  attempts: 0,
  nextTime: NOW,
  failure: null,
  notBefore: null,
  notAfter: null,
  renewTime: null,
  renewalInfoTime: null,
}
const failure = (kind: Failure['kind'], retryAfterMs?: number): Failure => ({
  kind,
  type: 't',
  detail: 'd',
  action: 'a',
  retryAfterMs,
})
const later = { now: NOW, random: 0.5 }

test('a new name is ordered at once, and no name before its time', () => {
  assert.equal(nextStep(NONE, NOW), 'ORDER')
  assert.equal(nextStep(NONE, NOW - 1), 'NOTHING')
  assert.equal(nextStep({ ...NONE, nextTime: null }, NOW), 'NOTHING')
})

test('the pauses after failures grow by kind, and the last one repeats', () => {
  const table: [Failure['kind'], number[]][] = [
    ['NAME', [5, 30, 120, 720, 1440, 1440]],
    ['CA', [1, 5, 15, 30, 30]],
    ['DNS', [0.5, 0.5, 1, 1, 2, 5, 5, 10, 15, 30, 60, 60]],
  ]
  for (const [kind, minutes] of table) {
    let record = NONE
    for (const pause of minutes) {
      record = { ...record, ...afterFailure(record, failure(kind), later) }
      assert.equal((record.nextTime ?? 0) - NOW, pause * MINUTE, `${kind} ${record.attempts}`)
    }
  }
})

test('the pauses vary by a tenth up and down', () => {
  const pause = (random: number) => (afterFailure(NONE, failure('NAME'), { now: NOW, random }).nextTime ?? 0) - NOW
  assert.deepEqual([pause(0), pause(0.5), pause(1)], [4.5 * MINUTE, 5 * MINUTE, 5.5 * MINUTE])
})

test('a failure of another kind begins with its first pause', () => {
  const twice = {
    ...NONE,
    attempts: 4,
    failure: { kind: 'NAME', type: 't', detail: 'd', action: 'a', time: NOW },
  } as const
  assert.equal(afterFailure(twice, failure('CA'), later).attempts, 1)
  assert.equal(afterFailure(twice, failure('NAME'), later).attempts, 5)
})

test('what the CA asks to wait is waited, if it is longer', () => {
  const limited = afterFailure(NONE, failure('NAME', 3 * DAY), later)
  assert.deepEqual([limited.nextTime, limited.failure?.retryTime], [NOW + 3 * DAY, NOW + 3 * DAY])
  assert.equal(afterFailure(NONE, failure('NAME', 1000), later).nextTime, NOW + 5 * MINUTE)
})

test('the state after a failure tells whether visitors still have a certificate', () => {
  const state = (record: Scheduled, kind: Failure['kind']) => afterFailure(record, failure(kind), later).state
  const [valid, expired] = [
    { ...NONE, ...VALID },
    { ...NONE, notBefore: NOW - 90 * DAY, notAfter: NOW },
  ]
  assert.deepEqual(
    [state(NONE, 'DNS'), state(NONE, 'NAME'), state(NONE, 'CA')],
    ['WAITING_FOR_DNS', 'FAILED', 'FAILED'],
  )
  assert.deepEqual([state(valid, 'DNS'), state(valid, 'NAME')], ['RENEWING', 'RENEWING'])
  assert.deepEqual([state(expired, 'DNS'), state(expired, 'CA')], ['WAITING_FOR_DNS', 'FAILED'])
})

test('a certificate is renewed at two thirds of its lifetime if the CA does not tell', () => {
  const issued = afterIssue(VALID, NOW, false)
  assert.deepEqual([issued.renewTime, issued.nextTime, issued.renewalInfoTime], [NOW + 60 * DAY, NOW + 60 * DAY, null])
  assert.equal(nextStep(issued, NOW + 60 * DAY - 1), 'NOTHING')
  assert.equal(nextStep(issued, NOW + 60 * DAY), 'ORDER')
})

test('a CA that tells is asked soon, and then as often as it wants', () => {
  const issued = afterIssue(VALID, NOW, true)
  assert.equal(issued.nextTime, NOW + MINUTE)
  assert.equal(nextStep(issued, NOW + MINUTE), 'RENEWAL_INFO')
  const window = { start: NOW + 40 * DAY, end: NOW + 42 * DAY }
  const ask = (retryAfterMs?: number) =>
    (afterRenewalInfo({ ...issued, ...VALID }, { ...window, retryAfterMs }, { now: NOW, fraction: 0 }).nextTime ?? 0) -
    NOW
  const hour = 60 * MINUTE
  assert.deepEqual([ask(), ask(12 * hour), ask(1000), ask(90 * DAY)], [6 * hour, 12 * hour, hour, 24 * hour])
})

test('the time of the renewal lies in the window, and is now if the window is over', () => {
  const record = { ...VALID, renewTime: NOW + 60 * DAY }
  const window = { start: NOW + 40 * DAY, end: NOW + 42 * DAY }
  const chosen = (fraction: number) => afterRenewalInfo(record, window, { now: NOW, fraction }).renewTime
  assert.deepEqual([chosen(0), chosen(0.5), chosen(1)], [NOW + 40 * DAY, NOW + 41 * DAY, NOW + 42 * DAY])
  const revoked = afterRenewalInfo(record, { start: NOW - 2 * DAY, end: NOW - DAY }, { now: NOW, fraction: 0.5 })
  assert.equal(nextStep(revoked, NOW), 'ORDER')
  const late = afterRenewalInfo(record, { start: NOW + 400 * DAY, end: NOW + 401 * DAY }, { now: NOW, fraction: 0 })
  assert.equal(late.renewTime, NOW + 81 * DAY, 'a tenth of the lifetime is left for attempts')
})

test('a CA that cannot be asked changes nothing', () => {
  const record = { ...VALID, renewTime: NOW + 50 * DAY }
  const after = afterRenewalInfo(record, undefined, { now: NOW, fraction: 0.5 })
  assert.deepEqual([after.renewTime, after.state], [NOW + 50 * DAY, 'ISSUED'])
})
