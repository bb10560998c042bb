/**
 * Reads the URL of a webhook as callers send it. Some escape the colon, add a slash at the end, or append parameters of
 * their own to the token, also after a second question mark. Pure.
 */
import type { names } from '../contract/index.ts'

/** `content` names what changed in the CMS, where the URL does. */
export type WebhookUrl = { at: names.EnvironmentPath; action: string; token: string; content?: string }

/** The scheme and host of the absolute form are allowed by RFC 9112, 3.2.2. */
const PATH =
  /^(?:https?:\/\/[^/]+)?\/wh\/v1\/accounts\/([^/]+)\/apps\/([^/]+)\/environments\/([^/]+)\/webhooks\/webhook:([^/]+)\/?$/

/** The first token, up to the first character that a token cannot contain. */
const TOKEN = /[?&]token=([\w-]*)/

/** A list of changed content, as it is written in the URL. */
const CONTENT = /[?&]content=([^&?#]*)/

/** Undefined if it is not the URL of a webhook. */
export function readWebhookUrl(url: string): WebhookUrl | undefined {
  const end = url.indexOf('?')
  const path = decode(end < 0 ? url : url.slice(0, end))
  const [, account, app, environment, action] = PATH.exec(path) ?? []
  if (!account || !app || !environment || !action) return undefined
  const [, token = ''] = (end < 0 ? null : TOKEN.exec(url.slice(end))) ?? []
  const [, content] = (end < 0 ? null : CONTENT.exec(url.slice(end))) ?? []
  const named = content === undefined ? {} : { content: decode(content) }
  return { at: { account, app, environment }, action, token, ...named }
}

/** Whether the body of a call may say what changed. */
export const mayNameContent = (url: string): boolean => /\/webhook(?::|%3a)purgeCache/i.test(url)

/**
 * A path for logs and messages. A caller that escapes the question mark, once or more, or replaces it, has its token in
 * the path: so nothing after a webhook's action is shown.
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
