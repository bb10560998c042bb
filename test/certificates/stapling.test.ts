/** Certificates that ask for stapling (must-staple): their answers of OCSP are got, renewed, and sent to the edges. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startCa } from '../support/certificates/ca.ts'
import { DAY_MS, startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE } from '../support/certificates/pebble.ts'

async function uploaded(t: TestContext, { mayCall = true, mustStaple = true, responder = '127.0.0.1' } = {}) {
  const [on, ca] = [await startCertificates(t, { hasAcme: false, mayCall: () => mayCall }), await startCa(t)]
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  on.dns.zone.set('ocsp.example.com', ['127.0.0.1'])
  const { cert, key, serial } = await ca.issue(['www.example.com'], { mustStaple, responder })
  await on.certificates.upload({ id, name: 'one' }, { chain: cert, privateKey: key })
  await on.round()
  // The round after an answer tells the edges.
  await on.round()
  return { on, ca, serial, staple: () => on.edge.certificates()[0]?.staple }
}

test('edges get the answer of the responder, and another one at half of its time', NEEDS_PEBBLE, async (t) => {
  const { on, ca, staple } = await uploaded(t)
  const first = staple()
  assert.ok(first && first.until > Date.now() + 3 * DAY_MS)
  assert.equal(ca.asked(), 1)
  const sets = on.edge.sets.certificates
  await on.round()
  assert.deepEqual([ca.asked(), on.edge.sets.certificates], [1, sets], 'nothing is asked or sent again')
  on.clock.move(2.5 * DAY_MS)
  await on.round()
  await on.round()
  assert.equal(ca.asked(), 2)
})

test('a responder is found by the DNS servers of the service', NEEDS_PEBBLE, async (t) => {
  const { ca, staple } = await uploaded(t, { responder: 'ocsp.example.com' })
  assert.equal(ca.asked(), 1)
  assert.ok(staple())
})

test('a certificate that does not ask for stapling is not asked about', NEEDS_PEBBLE, async (t) => {
  const { ca, staple } = await uploaded(t, { mustStaple: false })
  assert.deepEqual([ca.asked(), staple()], [0, undefined])
})

test('a responder at an address that tenants may not call is not called', NEEDS_PEBBLE, async (t) => {
  const { ca, staple } = await uploaded(t, { mayCall: false })
  assert.deepEqual([ca.asked(), staple()], [0, undefined])
})

test(
  'while the responder fails, the last answer is used, and it is asked again after a pause',
  NEEDS_PEBBLE,
  async (t) => {
    const { on, ca, staple } = await uploaded(t)
    const first = staple()
    ca.answerWith(Buffer.from('no answer'))
    on.clock.move(2.5 * DAY_MS)
    await on.round()
    await on.round()
    assert.deepEqual([ca.asked(), staple()], [2, first])
    on.clock.move(10 * 60_000)
    await on.round()
    assert.equal(ca.asked(), 3)
  },
)

test('a certificate that was revoked gets no answer sent with it', NEEDS_PEBBLE, async (t) => {
  const { on, ca, serial, staple } = await uploaded(t)
  await ca.revoke(serial)
  on.clock.move(2.5 * DAY_MS)
  await on.round()
  await on.round()
  assert.deepEqual([ca.asked(), staple()], [2, undefined])
})
