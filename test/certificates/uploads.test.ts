/** Certificates of an account's own: which hosts they answer for, and when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE } from '../support/certificates/pebble.ts'
import { makeCertificate } from '../support/edge/tls.ts'

test('an upload comes before ACME, warns before its end, and is followed by ACME', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  const account = { id, name: 'one' }
  on.addSite(id, ['www.example.com'], 'shop')
  const { cert, key } = await makeCertificate(t, { names: ['www.example.com', '*.sites.example.com'] })
  const uploaded = await on.certificates.upload(account, { chain: cert, privateKey: key })
  assert.deepEqual(uploaded.usedFor.toSorted(), ['shop.sites.example.com', 'www.example.com'])
  await on.round()
  assert.deepEqual(
    on.edge.certificates().map(({ names }) => names.toSorted()),
    [['shop.sites.example.com', 'www.example.com']],
  )
  assert.ok(!on.pebble.log().includes('Added order'), 'nothing is ordered')
  assert.equal(uploaded.warning, undefined)
  on.clock.move(15 * DAY_MS)
  const warned = await on.certificates.get(account, uploaded.name.split('/').at(-1) ?? '')
  assert.match(warned.warning ?? '', /It expires in 1[45] days\. Upload the next one\./)
  // A day before its end, the service gets one of its own, and the upload is used until the end.
  on.clock.move(14.5 * DAY_MS)
  await on.round()
  assert.equal((await on.stateOf('shop.sites.example.com')).state, 'ISSUED')
  assert.deepEqual(
    on.edge.certificates().map(({ chain }) => chain),
    [cert],
  )
  on.clock.move(DAY_MS)
  await on.round()
  assert.equal(on.edge.certificates().length, 2)
  const over = await on.certificates.get(account, uploaded.name.split('/').at(-1) ?? '')
  assert.deepEqual([over.state, over.usedFor], ['EXPIRED', []])
})

test('a domain that moves to another account leaves the certificate of the first behind', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t, { hasAcme: false })
  const [one, two] = [await on.accounts.create('one'), await on.accounts.create('two')]
  on.addSite(one.id, ['www.example.com'])
  const upload = async (account: { id: string }, name: string) => {
    const { cert, key } = await makeCertificate(t, { names: ['www.example.com'] })
    return on.certificates.upload({ id: account.id, name }, { chain: cert, privateKey: key })
  }
  await upload(one, 'one')
  await assert.rejects(upload(two, 'two'), { reason: 'CERTIFICATE_INVALID' })
  await on.round()
  assert.equal(on.edge.certificates().length, 1)
  on.sites.length = 0
  on.addSite(two.id, ['www.example.com'])
  await on.round()
  assert.deepEqual(on.edge.certificates(), [])
  const theirs = await upload(two, 'two')
  await on.round()
  assert.deepEqual(
    on.edge.certificates().map(({ id }) => `accounts/two/certificates/${id}`),
    [theirs.name],
  )
})

test('an account has so many uploads, and so many in an hour', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t, { hasAcme: false })
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  const { cert, key } = await makeCertificate(t, { names: ['www.example.com'] })
  const upload = () => on.certificates.upload({ id, name: 'one' }, { chain: cert, privateKey: key })
  for (let count = 0; count < 30; count++) await upload()
  await assert.rejects(upload(), { reason: 'TOO_MANY_RETRIES' })
  for (let count = 30; count < 100; count++) {
    on.clock.move(3 * 60_000)
    await upload()
  }
  on.clock.move(3 * 60_000)
  await assert.rejects(upload(), { reason: 'ACCOUNT_LIMIT' })
})
