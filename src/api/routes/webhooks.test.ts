import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Environments } from '../../apps/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Ledger } from '../../triggers/index.ts'
import type { WebhookSet, WebhookSets, Webhooks } from '../../webhooks/index.ts'
import { describeApi } from '../docs/openapi.ts'
import type { RouteCall } from '../route.ts'
import { webhookRoutes } from './webhooks.ts'

const SET: WebhookSet = {
  environmentId: 'e',
  quietSeconds: 0,
  maxQuietSeconds: 60,
  createTime: 0,
  regenerateTime: 0,
}

const routes = webhookRoutes({
  environments: { require: async () => ({ id: 'e', appName: 'shop' }) } as unknown as Environments,
  webhookSets: {
    change: async (_: string, change: resources.ChangedWebhookSet) => ({ ...SET, ...change }),
  } as unknown as WebhookSets,
  webhooks: {} as Webhooks,
  ledger: { lastUses: async () => new Map() } as unknown as Ledger,
  builds: { builtBy: async () => new Map() },
  siteUrl: (label) => `http://${label}.sites.test`,
  publicUrl: () => 'http://headland.test',
})

async function change(body: resources.ChangedWebhookSet): Promise<resources.WebhookSet> {
  const found = routes.find(({ method }) => method === 'PATCH')
  assert.ok(found)
  const params = { app: 'shop', environment: 'e' }
  const call = { account: { id: 'a', name: 'ours' }, params, body } as unknown as RouteCall<unknown, unknown>
  return (await found.handle(call)) as resources.WebhookSet
}

test('maxQuietSeconds is taken under its former name, and answers have both', async () => {
  for (const body of [
    { quietSecondsMost: 90 },
    { maxQuietSeconds: 90 },
    { maxQuietSeconds: 90, quietSecondsMost: 90 },
  ]) {
    const { maxQuietSeconds, quietSecondsMost } = await change(body)
    assert.deepEqual([maxQuietSeconds, quietSecondsMost], [90, 90])
  }
  assert.equal((await change({ quietSeconds: 5 })).quietSecondsMost, 60)
})

test('two names with two values are refused', async () => {
  await assert.rejects(change({ maxQuietSeconds: 90, quietSecondsMost: 91 }), { reason: 'FIELD_INVALID' })
})

test('the former name is marked as deprecated in the OpenAPI document', () => {
  const { ChangedWebhookSet, WebhookSet } = describeApi(routes, 'http://headland.test').components.schemas
  for (const described of [ChangedWebhookSet, WebhookSet]) {
    const { properties } = described as { properties: Record<string, { deprecated?: boolean }> }
    assert.equal(properties.quietSecondsMost?.deprecated, true)
    assert.equal(properties.maxQuietSeconds?.deprecated, undefined)
  }
})
