/** The parts that the calls for commit statuses share. */
import type { Secret } from '../../base/index.ts'
import type { HttpCall } from './provider.ts'

/** One line of text, cut to so many characters (not bytes); what is cut off is shown by an ellipsis. */
export function line(text: string, maxLength: number): string {
  // Long texts are cut before they are looked through.
  const characters = [...text.slice(0, 4 * maxLength).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ')]
  const isWhole = characters.length <= maxLength && text.length <= 4 * maxLength
  return (isWhole ? characters.join('') : `${characters.slice(0, maxLength - 1).join('')}…`).trim()
}

/** A URL that fits: where it is too long, the site that it leads to. */
export const fittingUrl = (url: string, maxLength: number): string =>
  url.length <= maxLength ? url : new URL(url).origin

export const post = (url: string, authorization: Record<string, string>, body: Record<string, unknown>): HttpCall => ({
  method: 'POST',
  url,
  headers: {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'headland',
    ...authorization,
  },
  body: JSON.stringify(body),
})

export const bearer = (token: Secret) => ({ authorization: `Bearer ${token.reveal()}` })

/** `user:token` is sent as such, a token alone as a bearer's. */
export const basicOrBearer = (token: Secret) =>
  token.reveal().includes(':')
    ? { authorization: `Basic ${Buffer.from(token.reveal()).toString('base64')}` }
    : bearer(token)

/** Whether the id can stand in a path. */
export const isCommit = (commit: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)
