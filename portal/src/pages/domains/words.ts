/** The result of a domain check in words: the state, and what it means or what to do. */
import type { DomainCheck } from '../../api/types.ts'

export type StateText = { tone: 'good' | 'busy' | 'bad' | 'warn' | 'idle'; word: string; detail?: string | undefined }

const SHOWN = 2

/** `203.0.113.10, 203.0.113.11 and 3 more`. */
function listed(addresses: readonly string[]): string {
  const more = addresses.length - SHOWN
  return addresses.slice(0, SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

export function dnsWords({ state, addresses }: DomainCheck['dns']): StateText {
  switch (state) {
    case 'CHECKING':
      return { tone: 'busy', word: 'Checking' }
    case 'HERE':
      return { tone: 'good', word: 'Leads here', detail: listed(addresses) }
    case 'PARTLY':
      return { tone: 'warn', word: 'Partly here', detail: `Not all of these lead here: ${addresses.join(', ')}` }
    case 'ELSEWHERE':
      return { tone: 'bad', word: 'Leads elsewhere', detail: `To ${listed(addresses)}` }
    case 'NOWHERE':
      return { tone: 'bad', word: 'Not in DNS', detail: 'Make the entries below' }
    case 'NO_ANSWER':
      return { tone: 'warn', word: 'DNS does not answer', detail: 'Check again in a while' }
    case 'UNKNOWN':
      return { tone: 'idle', word: 'Not known', detail: `Leads to ${listed(addresses)}` }
  }
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

/** Undefined if the certificate was not checked. */
export function certificateWords({ state, issuer, validUntil }: DomainCheck['certificate']): StateText | undefined {
  const until = validUntil === undefined ? '' : day.format(new Date(validUntil))
  switch (state) {
    case 'NOT_CHECKED':
      return undefined
    case 'VALID':
      return { tone: 'good', word: 'Valid', detail: `Until ${until}${issuer ? `, ${issuer}` : ''}` }
    case 'EXPIRED':
      return { tone: 'bad', word: 'Expired', detail: `On ${until}. The proxy must renew it` }
    case 'NOT_YET_VALID':
      return { tone: 'bad', word: 'Not yet valid', detail: 'Is the clock of the proxy right?' }
    case 'WRONG_NAME':
      return { tone: 'bad', word: 'For another name', detail: 'The proxy needs one for this name' }
    case 'SELF_SIGNED':
      return { tone: 'bad', word: 'Self-signed', detail: 'Browsers refuse it' }
    case 'UNTRUSTED':
      return { tone: 'bad', word: 'Not trusted', detail: issuer ? `Issued by ${issuer}` : 'Browsers refuse it' }
    case 'MISSING':
      return { tone: 'bad', word: 'None', detail: 'The proxy has none for this name yet' }
    case 'NO_ANSWER':
      return { tone: 'warn', word: 'No answer', detail: 'Nothing answers by https from this machine' }
  }
}
