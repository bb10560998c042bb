/** Requests that OpenSSL understands, and answers of OpenSSL. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { startCa } from '../../../test/support/certificates/ca.ts'
import { asksForStapling, mayAskForStapling, OcspRefused, ocspRequest, readOcspResponse, responderOf } from './ocsp.ts'

const DAY_MS = 24 * 3600_000

async function issued(t: TestContext, options: { mustStaple?: boolean } = {}) {
  const ca = await startCa(t)
  const { leaf: pem, serial } = await ca.issue(['www.example.com'], options)
  const [leaf, issuer] = [new X509Certificate(pem), new X509Certificate(ca.cert)]
  const read = (response: Buffer, now = Date.now()) => readOcspResponse(response, { leaf, issuer, now })
  return { ca, leaf, issuer, serial, read, answer: () => ca.answer(ocspRequest(leaf, issuer)) }
}

test('a certificate says whether it asks for stapling, and where to ask about it', async (t) => {
  const { ca, leaf } = await issued(t)
  assert.equal(asksForStapling(leaf), true)
  assert.equal(mayAskForStapling(leaf.toString()), true)
  assert.equal(responderOf(leaf), `http://127.0.0.1:${ca.port}/ocsp`)
  const { leaf: plain } = await ca.issue(['plain.example.com'], { mustStaple: false })
  assert.equal(asksForStapling(new X509Certificate(plain)), false)
  for (const pem of [plain, ca.cert, '', 'no certificate']) assert.equal(mayAskForStapling(pem), false)
  assert.equal(asksForStapling(new X509Certificate(ca.cert)), false)
  assert.equal(responderOf(new X509Certificate(ca.cert)), undefined)
})

test('a responder is asked, and its answer is read with its times', async (t) => {
  const { answer, read } = await issued(t)
  const { status, thisUpdate, nextUpdate = 0 } = read(await answer())
  assert.equal(status, 'GOOD')
  assert.equal(nextUpdate - thisUpdate, 4 * DAY_MS)
})

test('a certificate that was revoked is reported as that', async (t) => {
  const { ca, serial, answer, read } = await issued(t)
  await ca.revoke(serial)
  assert.equal(read(await answer()).status, 'REVOKED')
})

test('an answer is refused after its end and before its beginning', async (t) => {
  const { answer, read } = await issued(t)
  const response = await answer()
  assert.throws(() => read(response, Date.now() + 5 * DAY_MS), /has expired/)
  assert.throws(() => read(response, Date.now() - DAY_MS), /not valid yet/)
})

test('an answer about another certificate, or of another CA, is refused', async (t) => {
  const { ca, issuer, read } = await issued(t)
  const other = new X509Certificate((await ca.issue(['other.example.com'])).leaf)
  assert.throws(() => read(Buffer.alloc(0)), /damaged/)
  await assert.rejects(async () => read(await ca.answer(ocspRequest(other, issuer))), /about another certificate/)
  const stranger = await issued(t)
  await assert.rejects(async () => read(await stranger.answer()), OcspRefused)
})

test('whichever byte of an answer is changed or cut off, it is refused or says the same', async (t) => {
  const { answer, read } = await issued(t)
  const response = await answer()
  const good = read(response)
  for (let at = 0; at < response.length; at++) {
    const changed = Buffer.from(response)
    changed[at] = (changed[at] as number) ^ 0x55
    try {
      assert.deepEqual(read(changed), good)
    } catch (error) {
      assert.ok(error instanceof OcspRefused, `byte ${at}: ${error}`)
    }
    assert.throws(() => read(response.subarray(0, at)), OcspRefused)
  }
})

test('a status of the responder is named', async (t) => {
  const { read } = await issued(t)
  assert.throws(() => read(Buffer.from('30030a0106', 'hex')), /unauthorized/)
})
