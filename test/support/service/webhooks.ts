/** Makes the webhooks of an environment over the API, and looks at the ledger. */
import assert from 'node:assert/strict'
import type { resources } from '../../../src/contract/index.ts'
import type { ApiResponse, Login, TestService } from './service.ts'

export type WebhookUrls = Record<resources.WebhookAction, string>

export const urlsOf = ({ webhooks }: resources.IssuedWebhookSet): WebhookUrls =>
  Object.fromEntries(webhooks.map(({ action, url }) => [action, url])) as WebhookUrls

export async function createWebhooks(
  service: TestService,
  as: Login,
  environment: string,
  quiet?: resources.ChangedWebhookSet,
): Promise<WebhookUrls> {
  const made = await service.call(`/v1/${environment}/webhooks`, { method: 'POST', as, body: {} })
  assert.equal(made.status, 200, made.text)
  if (quiet) {
    const changed = await service.call(`/v1/${environment}/webhooks`, { method: 'PATCH', as, body: quiet })
    assert.equal(changed.status, 200, changed.text)
  }
  return urlsOf(made.json)
}

/** The target of the request line: the path and the query. */
export const targetOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')

export const tokenOf = (url: string): string => url.split('?token=')[1] ?? ''

/** Calls a webhook with no more than it requires. */
export const hook = (service: TestService, url: string): Promise<ApiResponse> =>
  service.call(targetOf(url), { method: 'POST' })

/** The newest first. */
export async function triggersOf(
  service: TestService,
  as: Login,
  environment: string,
  query = '?pageSize=200',
): Promise<resources.RecordedTrigger[]> {
  const { status, text, json } = await service.call(`/v1/${environment}/triggers${query}`, { as })
  assert.equal(status, 200, text)
  return json.triggers
}
