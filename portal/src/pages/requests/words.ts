/** Requests in words. */
import type { RequestRecord } from '../../api/types.ts'
import { duration } from '../../components/facts/format.ts'

export const STATUSES = ['2xx', '3xx', '4xx', '5xx'] as const
export type StatusClass = (typeof STATUSES)[number]

export const statusIn = (given: string | null): StatusClass | undefined => STATUSES.find((each) => each === given)

/** Of its pill. */
export function toneOf({
  status,
  outcome,
}: Pick<RequestRecord, 'status' | 'outcome'>): 'good' | 'warn' | 'bad' | 'idle' {
  if (status >= 500 || outcome === 'broken') return 'bad'
  if (status >= 400) return 'warn'
  return outcome === 'aborted' ? 'idle' : 'good'
}

export const OUTCOMES: Record<RequestRecord['outcome'], string> = {
  complete: '',
  aborted: 'The visitor left before the end',
  broken: 'The answer broke off',
}

export const CACHE: Record<RequestRecord['cache'], { text: string; meaning: string }> = {
  hit: { text: 'Hit', meaning: 'From the cache' },
  stale: { text: 'Stale', meaning: 'From the cache, although out of date' },
  miss: { text: 'Miss', meaning: 'The app was asked' },
  bypass: { text: 'Bypass', meaning: 'A request that a cache cannot answer: the app was asked' },
  static: { text: 'File', meaning: 'A file of the deployment' },
  none: { text: '–', meaning: 'A page of Headland itself' },
}

/** `< 1 ms`, `12 ms`, `12 s`. */
export function tookInWords(ms: number): string {
  if (ms < 1) return '< 1 ms'
  return ms < 9950 ? `${Math.round(ms)} ms` : duration(ms / 1000)
}

/** `?page=…&sort=…`: values are not recorded. */
export const queryOf = ({ parameters }: Pick<RequestRecord, 'parameters'>): string =>
  parameters.length === 0 ? '' : `?${parameters.map((name) => `${name}=…`).join('&')}`
