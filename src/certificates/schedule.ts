/**
 * What is done next about the certificate of one name that is got by ACME. Pure: given the record, what happened, and the time.
 *
 *   state            certificate      at nextTime                                    becomes
 *   PENDING          none             DNS is asked whether the name leads here; if   ISSUED; WAITING_FOR_DNS, if it does
 *                                     so, the certificate is ordered, or an order    not lead here; FAILED, if the CA
 *                                     of before is continued                         refuses or cannot be reached
 *   WAITING_FOR_DNS  none             the same                                       the same
 *   FAILED           none, or         the same                                       the same
 *                    expired
 *   ISSUED           valid            the CA is asked when to renew; from renewTime  RENEWING, from renewTime on
 *                                     on, the next one is ordered
 *   RENEWING         valid            the next one is ordered                        ISSUED; RENEWING, after a failure;
 *                                                                                    FAILED, if it has expired
 *
 * A record begins PENDING and due. `attempts` counts failures of one kind in a row.
 */
import type { Failure, FailureKind, StoredFailure } from './failure.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export type AcmeState = 'PENDING' | 'WAITING_FOR_DNS' | 'FAILED' | 'ISSUED' | 'RENEWING'

export type Scheduled = {
  state: AcmeState
  attempts: number
  nextTime: number | null
  failure: StoredFailure | null
  notBefore: number | null
  notAfter: number | null
  renewTime: number | null
  renewalInfoTime: number | null
}

/** The pauses after failures in a row; the last one repeats. */
const PAUSES_MS: Readonly<Record<FailureKind, readonly number[]>> = {
  DNS: [0.5, 0.5, 1, 1, 2, 5, 5, 10, 15, 30, 60].map((minutes) => minutes * MINUTE_MS),
  NAME: [5, 30, 2 * 60, 12 * 60, 24 * 60].map((minutes) => minutes * MINUTE_MS),
  CA: [1, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
}

/** So that names that failed together are not tried together again. */
const JITTER = 0.2

/** How often the CA is asked when to renew, unless it tells (RFC 9773, section 4.3). */
const RENEWAL_INFO_MS = { byDefault: 6 * HOUR_MS, min: HOUR_MS, max: 24 * HOUR_MS }

export type Step = 'ORDER' | 'RENEWAL_INFO' | 'NOTHING'

export function nextStep(record: Pick<Scheduled, 'state' | 'nextTime' | 'renewTime'>, now: number): Step {
  if (record.nextTime === null || now < record.nextTime) return 'NOTHING'
  if (record.state !== 'ISSUED' || record.renewTime === null || now >= record.renewTime) return 'ORDER'
  return 'RENEWAL_INFO'
}

type Valid = { notBefore: number; notAfter: number }
type Change = Pick<Scheduled, 'state' | 'attempts' | 'nextTime' | 'failure' | 'renewTime' | 'renewalInfoTime'>

/** At two thirds of the lifetime, until the CA tells otherwise. */
export const defaultRenewTime = ({ notBefore, notAfter }: Valid): number =>
  Math.floor(notBefore + ((notAfter - notBefore) * 2) / 3)

/** `tellsRenewal`: the CA can be asked when to renew; it is asked soon. */
export function afterIssue(valid: Valid, now: number, tellsRenewal: boolean): Change {
  return issued(defaultRenewTime(valid), tellsRenewal ? now + MINUTE_MS : null)
}

export type RenewalWindow = { start: number; end: number; retryAfterMs?: number | undefined }

/**
 * `window` is undefined where the CA could not be asked: then the last answer counts. `fraction` is a number from 0 to 1 that
 * stays the same for one certificate, so that the chosen time within a window does not move with every answer.
 */
export function afterRenewalInfo(
  record: Valid & Pick<Scheduled, 'renewTime'>,
  window: RenewalWindow | undefined,
  { now, fraction }: { now: number; fraction: number },
): Change {
  const pauseMs = window?.retryAfterMs ?? RENEWAL_INFO_MS.byDefault
  const askAgain = now + Math.min(Math.max(pauseMs, RENEWAL_INFO_MS.min), RENEWAL_INFO_MS.max)
  if (!window) return issued(record.renewTime ?? defaultRenewTime(record), askAgain)
  const chosen = Math.floor(window.start + (window.end - window.start) * fraction)
  // A CA that names a time close to the end leaves no time for a second attempt.
  const latest = record.notAfter - Math.floor((record.notAfter - record.notBefore) / 10)
  return issued(Math.min(chosen, latest), askAgain)
}

const issued = (renewTime: number, renewalInfoTime: number | null): Change => ({
  state: 'ISSUED',
  attempts: 0,
  failure: null,
  renewTime,
  renewalInfoTime,
  nextTime: Math.min(renewTime, renewalInfoTime ?? renewTime),
})

/** `random`: from 0 to 1. */
export function afterFailure(
  record: Pick<Scheduled, 'attempts' | 'failure' | 'notAfter'>,
  { retryAfterMs, ...failure }: Failure,
  { now, random }: { now: number; random: number },
): Pick<Scheduled, 'state' | 'attempts' | 'nextTime' | 'failure'> {
  const attempts = record.failure?.kind === failure.kind ? record.attempts + 1 : 1
  const pauses = PAUSES_MS[failure.kind]
  const pauseMs = (pauses[Math.min(attempts, pauses.length) - 1] ?? 0) * (1 + JITTER * (random - 0.5))
  const isValid = record.notAfter !== null && record.notAfter > now
  return {
    state: isValid ? 'RENEWING' : failure.kind === 'DNS' ? 'WAITING_FOR_DNS' : 'FAILED',
    attempts,
    nextTime: Math.floor(now + Math.max(pauseMs, retryAfterMs ?? 0)),
    failure: { ...failure, time: now, ...(retryAfterMs ? { retryTime: now + retryAfterMs } : {}) },
  }
}

/** The state while an order is under way. */
export const whileOrdering = (record: Pick<Scheduled, 'notAfter'>, now: number): AcmeState =>
  record.notAfter !== null && record.notAfter > now ? 'RENEWING' : 'PENDING'
