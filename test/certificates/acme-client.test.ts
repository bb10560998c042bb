/** The protocol client against a real CA. */
import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/index.ts'
import { authorize, pollWhile } from '../../src/certificates/acme/authorize.ts'
import { type ChallengeType, createAcmeClient, type Known } from '../../src/certificates/acme/client.ts'
import { type ExternalAccount, readAccountKey } from '../../src/certificates/acme/jws.ts'
import { AcmeProblem } from '../../src/certificates/acme/problem.ts'
import { createTransport } from '../../src/certificates/acme/transport.ts'
import { readIssued, renewalId } from '../../src/certificates/x509/chain.ts'
import { alpnCertificate, certificateRequest, newKey } from '../../src/certificates/x509/request.ts'
import { startTestEdge } from '../support/certificates/edge.ts'
import { NEEDS_PEBBLE, startPebble } from '../support/certificates/pebble.ts'
import { startDns } from '../support/machine/dns.ts'

/** The pauses between questions to the CA are cut short. */
const clock = { ...systemClock, sleep: (ms: number) => systemClock.sleep(Math.min(ms, 20)) }

type Given = { switches?: Record<string, string>; external?: Record<string, string>; asExternal?: ExternalAccount }

async function begin(t: TestContext, { switches, external, asExternal }: Given = {}) {
  const edge = await startTestEdge(t)
  const dns = await startDns(t, { 'www.example.com': ['127.0.0.1'], 'away.example.com': ['127.0.0.1'] })
  const { httpPort, tlsPort } = edge
  const pebble = await startPebble(t, {
    httpPort,
    tlsPort,
    dns: dns.address,
    ...(switches ? { switches } : {}),
    ...(external ? { external } : {}),
  })
  const transport = createTransport({ ca: [pebble.ca], userAgent: 'headland-test' })
  t.after(() => transport.close())
  const client = createAcmeClient({ clock, transport, directoryUrl: pebble.directory })
  const key = readAccountKey(await newKey())
  const account = async (): Promise<Known> => ({
    key,
    kid: await client.account(key, { email: 'operator@example.com', external: asExternal }),
  })
  const order = async (known: Known, name: string, types: ChallengeType[]) => {
    const certificateKey = await newKey()
    const made = await client.newOrder(known, name)
    const accepted = await authorize(
      {
        clock,
        client,
        account: known,
        types,
        async publish({ type, name: host, token, keyAuthorization, dnsValue }) {
          if (type === 'http-01') await edge.edge.setChallenges({ http: { [token]: keyAuthorization }, alpn: {} })
          if (type === 'dns-01') dns.texts.set(`_acme-challenge.${host}`, [dnsValue])
          if (type === 'tls-alpn-01') {
            const alpnKey = await newKey()
            const chain = alpnCertificate(alpnKey, host, keyAuthorization, Date.now())
            await edge.edge.setChallenges({ http: {}, alpn: { [host]: { chain, key: alpnKey } } })
          }
          return async () => {
            dns.texts.clear()
            await edge.edge.setChallenges({ http: {}, alpn: {} })
          }
        },
      },
      made,
    )
    await pollWhile(
      { clock },
      ({ status }) => status === 'pending',
      () => client.order(known, made.url),
    )
    await client.finalize(known, made, certificateRequest(certificateKey, [name]))
    const done = await pollWhile(
      { clock },
      ({ status }) => status === 'processing' || status === 'ready',
      () => client.order(known, made.url),
    )
    assert.equal(done.status, 'valid', JSON.stringify(done))
    const chain = await client.download(known, done.certificate ?? '')
    return { accepted, key: certificateKey, read: readIssued(chain, certificateKey, name) }
  }
  return { edge, dns, pebble, client, account, order }
}

for (const [type, name] of [
  ['http-01', 'www.example.com'],
  ['tls-alpn-01', 'www.example.com'],
  ['dns-01', '*.sites.example.com'],
] as const) {
  test(
    `a certificate is issued by ${type}, although the CA refuses a quarter of the nonces`,
    NEEDS_PEBBLE,
    async (t) => {
      const { account, order, edge } = await begin(t, {
        switches: { PEBBLE_WFE_NONCEREJECT: '25', PEBBLE_AUTHZREUSE: '0' },
      })
      const { accepted, key, read } = await order(await account(), name, [type])
      assert.equal(accepted, type)
      assert.deepEqual(read.names, [name])
      assert.match(read.issuer, /Pebble/)
      assert.ok(read.notBefore < read.notAfter)
      const leaf = new X509Certificate(read.chain)
      assert.ok(leaf.checkPrivateKey(createPrivateKey(key)))
      assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
      assert.ok(read.chain.split('BEGIN CERTIFICATE').length > 2, 'the chain has an intermediate')
      assert.match(renewalId(read.chain) ?? '', /^[\w-]{10,}\.[\w-]{8,}$/)
      assert.deepEqual(edge.challenges(), { http: {}, alpn: {} })
      if (type !== 'dns-01') assert.ok(edge.asked.includes(`${type} ${name}`))
    },
  )
}

test('the account of a key is found again, and its address can be changed', NEEDS_PEBBLE, async (t) => {
  const { account, client } = await begin(t)
  const [first, second] = [await account(), await account()]
  assert.equal(first.kid, second.kid)
  await client.setContact(first, 'other@example.com')
})

test('a name that was proven lately needs no new proof if the CA reuses authorizations', NEEDS_PEBBLE, async (t) => {
  const { account, order, edge } = await begin(t, { switches: { PEBBLE_AUTHZREUSE: '100' } })
  const known = await account()
  await order(known, 'www.example.com', ['http-01'])
  const questions = edge.asked.length
  assert.equal((await order(known, 'www.example.com', ['http-01'])).accepted, undefined)
  assert.equal(edge.asked.length, questions)
})

test('a refusal has the words of the CA', NEEDS_PEBBLE, async (t) => {
  const { account, order, client, dns } = await begin(t)
  const known = await account()
  dns.zone.delete('away.example.com')
  await assert.rejects(order(known, 'away.example.com', ['http-01']), (error: AcmeProblem) => {
    assert.ok(error instanceof AcmeProblem)
    assert.match(`${error.type} ${error.detail}`, /dns|connection|unauthorized|malformed/)
    assert.ok(error.detail.length > 10, error.detail)
    return true
  })
  await assert.rejects(client.newOrder(known, 'not a name'), { name: 'AcmeProblem', status: 400 })
})

test('a CA that wants a contract is given its key', NEEDS_PEBBLE, async (t) => {
  const external = { 'kid-1': Buffer.from('a secret of the contract, 32 byte').toString('base64url') }
  const hmacKey = external['kid-1']
  const { account } = await begin(t, { external, asExternal: { keyId: 'kid-1', hmacKey } })
  assert.ok((await account()).kid)
  const { account: without } = await begin(t, { external })
  await assert.rejects(without(), { type: 'externalAccountRequired' })
})
