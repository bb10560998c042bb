/**
 * Reads the URL of a webhook as callers send it. Some escape the colon, add a slash at the end, or hang parameters of their
 * own behind the token, with a second question mark too. Pure.
 */
import type { names } from '../contract/index.ts'

export type WebhookUrl = { at: names.EnvironmentPath; action: string; token: string }

/** The scheme and host of the absolute form are allowed by RFC 9112, 3.2.2. */
const PATH =
  /^(?:https?:\/\/[^/]+)?\/wh\/v1\/accounts\/([^/]+)\/apps\/([^/]+)\/environments\/([^/]+)\/webhooks\/webhook:([^/]+)\/?$/

/** The first of them, as far as its own letters go: a token has no others. */
const TOKEN = /[?&]token=([\w-]*)/

/** Nothing where it does not look like the URL of a webhook at all. */
export function readWebhookUrl(url: string): WebhookUrl | undefined {
  const end = url.indexOf('?')
  const path = decode(end < 0 ? url : url.slice(0, end))
  const [, account, app, environment, action] = PATH.exec(path) ?? []
  if (!account || !app || !environment || !action) return undefined
  const [, token = ''] = (end < 0 ? null : TOKEN.exec(url.slice(end))) ?? []
  return { at: { account, app, environment }, action, token }
}

/**
 * A path for logs and messages. A caller that escapes the question mark, once or more, or puts something else in its place,
 * has its token in the path: nothing is shown that stands behind a webhook's action.
 */
export const withoutSecrets = (url: string): string =>
  (url.split(/\?|%(?:25)*3f/i, 1)[0] ?? '').replace(/(\/webhook(?::|%(?:25)*3a)[a-z]*).*/is, '$1')

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
