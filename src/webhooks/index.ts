export { createWebhookRates, type WebhookRates } from './rates.ts'
export { createWebhookSets, type IssuedSet, type WebhookSet, type WebhookSets } from './sets.ts'
export { type Accepted, createWebhooks, type WebhookCall, type WebhookRead, type Webhooks } from './webhooks.ts'
