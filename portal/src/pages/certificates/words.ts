/** A certificate in words: its state, and what it means or what to do. */
import type { Certificate } from '../../api/types.ts'

export type StateText = { tone: 'good' | 'busy' | 'bad' | 'warn' | 'idle'; word: string; detail?: string | undefined }

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const dateOf = (time: string | undefined): string => (time === undefined ? '' : day.format(new Date(time)))

export function stateWords({ state, notAfter, warning }: Certificate): StateText {
  const until = notAfter === undefined ? undefined : `Until ${dateOf(notAfter)}`
  switch (state) {
    case 'PENDING':
      return { tone: 'busy', word: 'Being got' }
    case 'WAITING_FOR_DNS':
      return { tone: 'warn', word: 'Waiting for DNS' }
    case 'ISSUED':
      return warning
        ? { tone: 'warn', word: 'Expires soon', detail: until }
        : { tone: 'good', word: 'Valid', detail: until }
    case 'RENEWING':
      return { tone: 'warn', word: 'Being renewed', detail: until }
    case 'FAILED':
      return { tone: 'bad', word: 'Failed' }
    case 'EXPIRED':
      return { tone: 'bad', word: 'Expired', detail: `On ${dateOf(notAfter)}` }
  }
}

/** Why there is none, and what to do; the words of the CA come first. */
export function whyWords({ failure, warning }: Certificate): { what: string; action?: string } | undefined {
  if (failure) return { what: failure.detail, action: failure.action }
  return warning === undefined ? undefined : { what: warning }
}

export const sourceWords = ({ source, issuer }: Certificate): string =>
  [source === 'UPLOADED' ? 'Uploaded' : 'By the service', ...(issuer ? [issuer] : [])].join(', ')

/** Whether a user can let the service try again at once. */
export const canRetry = ({ source, state }: Certificate): boolean =>
  source === 'ACME' && ['WAITING_FOR_DNS', 'FAILED', 'RENEWING'].includes(state)
