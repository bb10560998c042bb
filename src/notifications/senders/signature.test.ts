import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newWebhookSecret, webhookHeaders } from './signature.ts'

test('a signature is the one of the test vector of Standard Webhooks', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', time: 1_614_265_330_000, body: '{"test": 2432232314}' }
  assert.deepEqual(webhookHeaders(message, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('a secret has 24 to 64 random bytes, and two secrets sign side by side', () => {
  const [one, other] = [newWebhookSecret(), newWebhookSecret()]
  assert.match(one, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.notEqual(one, other)
  const { 'webhook-signature': both } = webhookHeaders({ id: 'a', time: 0, body: '' }, [one, other])
  assert.equal(both?.split(' ').length, 2)
})
