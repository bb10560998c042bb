/** Certificates over the API of the real service, from a real CA; and what one account can see and do. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { NEEDS_PEBBLE, startPebble } from '../../support/certificates/pebble.ts'
import { makeCertificate } from '../../support/edge/tls.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startDns } from '../../support/machine/dns.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

type Certificate = resources.Certificate

test(
  'a domain gets its certificate by itself, and an upload replaces it; other accounts see neither',
  NEEDS_PEBBLE,
  async (t) => {
    const dns = await startDns(t, { 'www.example.com': ['127.0.0.1'], 'away.example.com': ['198.51.100.7'] })
    // The CA believes every answer: the edges have their own tests.
    const pebble = await startPebble(t, { dns: dns.address, switches: { PEBBLE_VA_ALWAYS_VALID: '1' } })
    const folder = await temporaryFolder(t)
    const caFile = join(folder, 'ca.pem')
    await writeFile(caFile, pebble.ca)
    const settings = {
      HEADLAND_ACME_EMAIL: 'operator@example.com',
      HEADLAND_ACME_DIRECTORY: pebble.directory,
      HEADLAND_ACME_CA_FILE: caFile,
      HEADLAND_DOMAIN: 'sites.example.com',
      HEADLAND_PUBLIC_URL: 'https://portal.example.com',
      HEADLAND_PUBLIC_ADDRESSES: '127.0.0.1',
      HEADLAND_DNS_SERVERS: dns.address,
    }
    const service = await startService(t, { settings })
    for (const name of ['one', 'two']) await service.operator('accounts', 'create', name)
    const as = await service.login('owner', 'one')
    const { name: environment } = await createEnvironment(service, as, { account: 'one' })
    const domains = ['www.example.com', 'away.example.com']
    assert.equal(
      (await service.call(`/v1/${environment}/domains:replace`, { method: 'POST', as, body: { domains } })).status,
      200,
    )
    const list = async (): Promise<Certificate[]> =>
      (await service.call('/v1/accounts/one/certificates', { as })).json.certificates
    const of = async (name: string) => (await list()).find(({ names }) => names.includes(name))

    const issued = await until(async () => {
      const found = await of('www.example.com')
      return found?.state === 'ISSUED' && found
    })
    assert.match(issued.issuer ?? '', /Pebble/)
    assert.deepEqual([issued.source, issued.usedFor], ['ACME', ['www.example.com']])
    assert.ok(Date.parse(issued.nextAttemptTime ?? '') < Date.parse(issued.notAfter ?? ''))
    assert.ok(!JSON.stringify(issued).includes('PRIVATE KEY'))
    const waiting = await until(async () => {
      const found = await of('away.example.com')
      return found?.state === 'WAITING_FOR_DNS' && found
    })
    assert.equal(waiting.failure?.type, 'leadsElsewhere')
    assert.match(waiting.failure?.detail ?? '', /198\.51\.100\.7/)

    const retry = (certificate: Certificate, by = as) =>
      service.call(`/v1/${certificate.name}:retry`, { method: 'POST', as: by })
    assert.equal((await retry(issued)).reason, 'CERTIFICATE_NOT_WAITING')
    dns.zone.set('away.example.com', ['127.0.0.1'])
    assert.equal((await retry(waiting)).status, 200)
    await until(async () => (await of('away.example.com'))?.state === 'ISSUED')
    assert.equal((await retry(waiting)).reason, 'CERTIFICATE_NOT_WAITING')

    const upload = (by: typeof as, account: string, { cert, key }: { cert: string; key: string }) =>
      service.call(`/v1/accounts/${account}/certificates`, {
        method: 'POST',
        as: by,
        body: { chain: cert, privateKey: key },
      })
    const own = await makeCertificate(t, { names: ['www.example.com', 'other.example.com'] })
    const uploaded = await upload(as, 'one', own)
    assert.equal(uploaded.status, 200, uploaded.text)
    assert.deepEqual(
      [uploaded.json.source, uploaded.json.state, uploaded.json.usedFor],
      ['UPLOADED', 'ISSUED', ['www.example.com']],
    )
    await until(async () => (await list()).filter(({ names }) => names.includes('www.example.com')).length === 1)
    assert.equal((await retry(uploaded.json)).reason, 'CERTIFICATE_NOT_WAITING')
    assert.equal((await upload(as, 'one', { ...own, key: 'no key' })).reason, 'CERTIFICATE_INVALID')
    const foreign = await upload(as, 'one', await makeCertificate(t, { names: ['other.example.com', '*.example.org'] }))
    assert.equal(foreign.reason, 'CERTIFICATE_INVALID')
    assert.match(foreign.json.error.message, /no environment of the account has such a domain/)

    const viewer = await service.login('viewer', 'one')
    assert.equal((await service.call('/v1/accounts/one/certificates', { as: viewer })).status, 200)
    assert.equal((await upload(viewer, 'one', own)).status, 403)
    const stranger = await service.login('owner', 'two')
    assert.deepEqual((await service.call('/v1/accounts/two/certificates', { as: stranger })).json.certificates, [])
    assert.equal(
      (await upload(stranger, 'two', own)).reason,
      'CERTIFICATE_INVALID',
      "for a domain of another account's",
    )
    for (const { name } of await list()) {
      const elsewhere = name.replace('accounts/one', 'accounts/two')
      assert.equal((await service.call(`/v1/${elsewhere}`, { as: stranger })).status, 404)
      assert.equal((await service.call(`/v1/${elsewhere}`, { method: 'DELETE', as: stranger })).status, 404)
      assert.equal((await service.call(`/v1/${elsewhere}:retry`, { method: 'POST', as: stranger })).status, 404)
    }

    const remove = (name: string) => service.call(`/v1/${name}`, { method: 'DELETE', as })
    assert.equal((await remove(waiting.name)).reason, 'CERTIFICATE_OF_SERVICE')
    assert.equal((await remove(uploaded.json.name)).status, 200)
    const back = await until(async () => {
      const found = await of('www.example.com')
      return found?.state === 'ISSUED' && found
    })
    assert.equal(back.notAfter, issued.notAfter, 'the certificate of before is used again')
  },
)
