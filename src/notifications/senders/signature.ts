/** Signatures of webhooks as the Standard Webhooks specification has them, version 1: HMAC-SHA256 over id, time and body. */
import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const KEY_BYTES = 32

export const newWebhookSecret = (): string => `${PREFIX}${randomBytes(KEY_BYTES).toString('base64')}`

/** `time` is in milliseconds. Where there are several secrets, the receiver may know any of them. */
export function webhookHeaders(
  { id, time, body }: { id: string; time: number; body: string },
  secrets: readonly string[],
): Record<string, string> {
  const seconds = String(Math.floor(time / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures.join(' ') }
}
