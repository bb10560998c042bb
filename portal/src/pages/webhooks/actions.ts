/** The three webhook actions in words, and what stops working when their URLs do. */

import type { RecordedTrigger, WebhookAction, WebhookSet } from '../../api/types.ts'
import { ago } from '../../components/facts/format.ts'

export const ACTION_WORDS: Record<WebhookAction, { name: string; does: string; use: string }> = {
  rebuild: {
    name: 'Rebuild',
    does: 'Builds the newest upload again, or what a rollback pinned, with the current content, and makes it live.',
    use: 'For sites that are built from content.',
  },
  cleanRebuild: {
    name: 'Clean Rebuild',
    does: 'The same, without anything that earlier builds left.',
    use: 'For when a Rebuild does not help.',
  },
  purgeCache: {
    name: 'Purge cache',
    does: 'The edge drops what it has stored; nothing is built.',
    use: 'For sites that render on request.',
  },
}

const RECORDED = { rebuild: 'REBUILD', cleanRebuild: 'CLEAN_REBUILD', purgeCache: 'PURGE_CACHE' } as const

/**
 * What stops working when these URLs do, one sentence each: the last called come first, with the caller, if it is among
 * `triggers`, the newest entries of the ledger.
 */
export function whatStops(
  webhooks: WebhookSet['webhooks'],
  triggers: readonly RecordedTrigger[],
  now: number,
): string[] {
  const used = webhooks
    .flatMap(({ action, lastUseTime }) => (lastUseTime ? [{ action, time: Date.parse(lastUseTime) }] : []))
    .sort((a, b) => b.time - a.time)
  const unused = webhooks.filter(({ lastUseTime }) => !lastUseTime).map(({ action }) => ACTION_WORDS[action].name)
  return [
    ...used.map(({ action, time }) => {
      const caller = triggers.find((each) => each.source === 'WEBHOOK' && each.action === RECORDED[action])
      return `${ACTION_WORDS[action].name} was last called ${ago(time, now)}${caller ? `, ${callerOf(caller)}` : ''}.`
    }),
    ...(unused.length > 0 ? [`Not called since they were made: ${unused.join(', ')}.`] : []),
  ]
}

/** `by WordPress/6.8 from 10.0.0.3`. */
function callerOf({ userAgent, address }: RecordedTrigger): string {
  const who = userAgent.length > MAX_AGENT ? `${userAgent.slice(0, MAX_AGENT)}…` : userAgent
  return [who && `by ${who}`, address && `from ${address}`].filter(Boolean).join(' ')
}

const MAX_AGENT = 60

const TOKEN = /([?&]token=)[^&]+/

/** The URL with its token masked, safe to show on a shared screen. */
export const masked = (url: string): string => url.replace(TOKEN, '$1••••••••')
