/** Accounts share what a CA issues, and what a CA asks for is done. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCaProxy } from '../support/certificates/ca-proxy.ts'
import { MINUTE_MS, startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE } from '../support/certificates/pebble.ts'

test('an account with many names does not hold up another one', NEEDS_PEBBLE, async (t) => {
  const switches = { PEBBLE_VA_ALWAYS_VALID: '1', PEBBLE_WFE_NONCEREJECT: '0' }
  const on = await startCertificates(t, { switches })
  const [many, one] = [await on.accounts.create('many'), await on.accounts.create('one')]
  const names = Array.from({ length: 53 }, (_, index) => `site-${index}.example.com`)
  on.addSite(many.id, names.slice(0, 30), 'many')
  on.addSite(many.id, names.slice(30))
  on.addSite(one.id, ['www.example.org'])
  await on.round()
  const all = await on.all()
  const ofMany = all.filter(({ names: [name = ''] }) => name.startsWith('site-') || name === 'many.sites.example.com')
  assert.equal(ofMany.filter(({ state }) => state === 'ISSUED').length, 50, 'its share')
  const waiting = ofMany.filter(({ state }) => state === 'PENDING')
  assert.equal(waiting.length, 4)
  for (const { nextTime, failure } of waiting) {
    assert.equal(failure, null, 'to wait is no failure')
    assert.ok((nextTime ?? 0) > on.clock.now())
  }
  assert.equal((await on.stateOf('www.example.org')).state, 'ISSUED')
  const order = on.pebble
    .log()
    .split('\n')
    .filter((line) => line.includes('Pulled a task'))
  const place = order.findIndex((line) => line.includes('www.example.org'))
  assert.ok(place >= 0 && place < 10, `it was the ${place + 1}th`)
  on.clock.move(4 * 60 * MINUTE_MS)
  await on.round()
  assert.equal((await on.stateOf('site-52.example.com')).state, 'ISSUED')
})

test('a CA that limits orders is not asked before the time that it names', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.stop()
  let [isLimited, orders] = [true, 0]
  const proxy = await startCaProxy(t, on.pebble, {
    before({ path }) {
      if (path !== '/order-plz') return undefined
      orders++
      if (!isLimited) return undefined
      const detail = 'too many certificates already issued for "example.com"\u001b[2J'
      const text = JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail })
      return { status: 429, headers: { 'retry-after': '86400', 'replay-nonce': '' }, text }
    },
  })
  const next = await on.open({ directory: proxy.directory, ca: [proxy.ca] })
  await next.round()
  const limited = await on.stateOf('www.example.com')
  assert.deepEqual([limited.state, limited.failure?.type], ['FAILED', 'rateLimited'])
  assert.equal(limited.failure?.detail, 'too many certificates already issued for "example.com" [2J')
  const waitMs = (limited.nextTime ?? 0) - on.clock.now()
  assert.ok(waitMs > 86_000_000 && waitMs <= 86_400_000)
  const account = { id, name: 'one' }
  await assert.rejects(next.certificates.retry(account, limited.id), { reason: 'TOO_MANY_RETRIES' })
  await next.round()
  assert.equal(orders, 1)
  isLimited = false
  on.clock.move(86_400_000)
  await next.round()
  assert.deepEqual([(await on.stateOf('www.example.com')).state, orders >= 2], ['ISSUED', true])
})

test('an answer of the CA that is endless, or none at all, is an error and not more', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.stop()
  for (const text of ['x'.repeat(300_000), 'hello', '[]', '{"newNonce":"http://127.0.0.1/"}', '{"status":"odd"}']) {
    const proxy = await startCaProxy(t, on.pebble, { before: () => ({ status: 200, text }) })
    const next = await on.open({ directory: proxy.directory, ca: [proxy.ca] })
    await next.round()
    const { state, failure } = await on.stateOf('www.example.com')
    assert.deepEqual([state, failure?.type], ['FAILED', 'unreachable'], text.slice(0, 40))
    await next.stop()
  }
})
