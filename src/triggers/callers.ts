/** The requesters that have no log-in: a webhook is recorded by its user agent, or by the action that it asked for. */
import { LIMITS, type resources } from '../contract/index.ts'

const ACTION_WORDS: Record<resources.TriggerAction, string> = {
  REBUILD: 'Rebuild',
  CLEAN_REBUILD: 'Clean Rebuild',
  PURGE_CACHE: 'Purge Cache',
}

/** `WordPress/6.9` of `WordPress/6.9; https://cms.example`. A caller without a user agent gets the name of the action. */
export function webhookRequester(action: resources.TriggerAction, userAgent: string): resources.Requester {
  const [product = ''] = userAgent.split(/[;(]/, 1)
  const name = product.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return { kind: 'WEBHOOK', name: name.slice(0, LIMITS.requesterLength).toWellFormed() || ACTION_WORDS[action] }
}

/** The app that runs in the environment. */
export const APP_REQUESTER: resources.Requester = { kind: 'APP', name: 'the app' }
export const SERVICE_REQUESTER: resources.Requester = { kind: 'SERVICE', name: 'Headland' }
