/** Certificates that are about to fail visitors: pure. */
import { names, type resources } from '../contract/index.ts'
import type { Condition } from './condition.ts'

const DAY_MS = 24 * 3600 * 1000

/** A renewal that fails matters when so little of its time is left. */
const RENEWAL_LEFT_MS = 14 * DAY_MS
/** As the portal warns of it. */
const UPLOADED_LEFT_MS = 21 * DAY_MS
/** Failures in a row: fewer are a CA or a DNS server that is away for a while. */
const ATTEMPTS = 3

export type CertificateFacts = {
  id: string
  source: resources.CertificateSource
  state: string
  attempts: number
  failure: { detail: string; action: string } | null
  /** Null: of the operator. */
  accountId: string | null
  names: readonly string[]
  notAfter: number | null
}

/** `all`: those of all accounts, among which one may replace another. */
export function isFailing(one: CertificateFacts, all: readonly CertificateFacts[], now: number): boolean {
  const leftMs = one.notAfter === null ? undefined : one.notAfter - now
  if (one.source === 'UPLOADED') return (leftMs ?? 0) < UPLOADED_LEFT_MS && !isReplaced(one, all)
  if (one.failure === null || one.attempts < ATTEMPTS) return false
  // A domain that is new waits for its owner, who sees it on its page.
  if (leftMs === undefined) return one.state === 'FAILED'
  return leftMs < RENEWAL_LEFT_MS
}

/** Another one of the account is valid for longer, and for the same names. */
const isReplaced = (one: CertificateFacts, all: readonly CertificateFacts[]): boolean =>
  all.some(
    (other) =>
      other.id !== one.id &&
      other.accountId === one.accountId &&
      (other.notAfter ?? 0) > (one.notAfter ?? 0) &&
      one.names.every((name) => other.names.includes(name)),
  )

type Account = { id: string; name: string }

/** `ownersOf`: who is told; for a certificate of the operator, each account of operators. */
export function failingCertificates(
  all: readonly CertificateFacts[],
  ownersOf: (one: CertificateFacts) => readonly Account[],
  now: number,
): Condition[] {
  return all
    .filter((one) => isFailing(one, all, now))
    .flatMap((one) =>
      ownersOf(one).map((account) => ({
        kind: 'CERTIFICATE_FAILING' as const,
        accountId: account.id,
        key: `CERTIFICATE_FAILING/${one.id}`,
        resource: one.accountId === null ? `certificates/${one.id}` : names.certificateResource(account.name, one.id),
        title: `Certificate about to fail: ${namesInWords(one.names)}`,
        text: textOf(one, now),
        page: `/${account.name}/certificates`,
      })),
    )
}

function textOf({ source, failure, notAfter }: CertificateFacts, now: number): string {
  const until = notAfter === null ? '' : expiryInWords(notAfter - now)
  if (source === 'UPLOADED') return `${until} Upload the next one.`
  const lead = notAfter === null ? 'No certificate could be got.' : `${until} The next one could not be got.`
  return [lead, failure?.detail, failure?.action].filter((part) => part !== undefined && part !== '').join('\n')
}

function expiryInWords(leftMs: number): string {
  if (leftMs <= 0) return 'It has expired, and browsers refuse the site.'
  return leftMs < DAY_MS ? 'It expires within a day.' : `It expires in ${Math.floor(leftMs / DAY_MS)} days.`
}

const NAMES_SHOWN = 3

const namesInWords = (all: readonly string[]): string =>
  `${all.slice(0, NAMES_SHOWN).join(', ')}${all.length > NAMES_SHOWN ? ', …' : ''}`
