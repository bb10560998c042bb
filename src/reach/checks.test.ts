import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { HAS_OPENSSL, makeCertificate, startTls } from '../../test/support/edge/tls.ts'
import { startDns } from '../../test/support/machine/dns.ts'
import { until } from '../../test/support/until.ts'
import type { resources } from '../contract/index.ts'
import { readCertificate } from './certificate.ts'
import { createDomainChecks } from './checks.ts'
import { createLookup } from './lookup.ts'

const OWN = 'label.sites.example.com'

type Given = Partial<Parameters<typeof createDomainChecks>[0]> & {
  zone?: Parameters<typeof startDns>[1]
}

/** Checks that ask a DNS server of the test, and note where certificates would be looked for. */
async function checksWith(t: TestContext, { zone = {}, ...given }: Given = {}) {
  const dns = await startDns(t, zone)
  const clock = handClock()
  const connections: string[] = []
  const checks = createDomainChecks({
    clock,
    lookUp: createLookup({ servers: [dns.address] }),
    async askCertificate({ address, port, name }): Promise<resources.CertificateCheck> {
      connections.push(`${name} at ${address} ${port}`)
      return { state: 'VALID' }
    },
    ...given,
  })
  const check = (domains: string[], isFresh = false) => checks.check({ accountId: 'a', ownHost: OWN, domains, isFresh })
  const states = async (domains: string[]) =>
    Object.fromEntries((await check(domains)).checks.map(({ domain, dns }) => [domain, dns.state]))
  return { dns, clock, connections, checks, check, states }
}

test('a name leads here, partly here, elsewhere or nowhere, by what DNS has beside our own addresses', async (t) => {
  const { states, check, connections } = await checksWith(t, {
    zone: {
      [OWN]: ['203.0.113.10', '2001:db8::10'],
      'here.example': ['203.0.113.10'],
      'both.example': ['2001:db8::10', '203.0.113.10'],
      'partly.example': ['203.0.113.10', '2001:db8::99'],
      'elsewhere.example': ['198.51.100.7'],
      'nothing.example': [],
      'failing.example': 'failing',
    },
  })
  const names = ['here', 'both', 'partly', 'elsewhere', 'nothing', 'failing', 'absent'].map((name) => `${name}.example`)
  assert.deepEqual(await states(names), {
    'here.example': 'HERE',
    'both.example': 'HERE',
    'partly.example': 'PARTLY',
    'elsewhere.example': 'ELSEWHERE',
    'nothing.example': 'NOWHERE',
    'failing.example': 'NO_ANSWER',
    'absent.example': 'NOWHERE',
  })
  assert.deepEqual((await check(['partly.example'])).checks[0]?.dns.addresses, ['2001:db8::99', '203.0.113.10'])
  assert.deepEqual((await check([])).records, [
    { type: 'CNAME', value: OWN },
    { type: 'AAAA', value: '2001:db8::10' },
    { type: 'A', value: '203.0.113.10' },
  ])
  assert.deepEqual(connections.toSorted(), [
    'both.example at 2001:db8::10 443',
    'here.example at 203.0.113.10 443',
    'partly.example at 203.0.113.10 443',
  ])
})

test('a connection is made to our own addresses alone, whatever a tenant writes into DNS', async (t) => {
  const hostile = ['127.0.0.1', '169.254.169.254', '10.0.0.1', '::1', 'fd00::1', '198.51.100.7']
  const { states, connections } = await checksWith(t, {
    zone: { [OWN]: ['203.0.113.10'], 'all.example': hostile, 'one.example': ['169.254.169.254'] },
  })
  assert.deepEqual(await states(['all.example', 'one.example']), {
    'all.example': 'ELSEWHERE',
    'one.example': 'NOWHERE',
  })
  assert.deepEqual(connections, [])
})

test('answers of an internal DNS server stay secret: a private address looks like none', async (t) => {
  const internal = ['10.1.2.3', '192.168.0.1', '172.31.0.1', '100.64.0.1', '127.0.0.1', 'fd00::1', 'fe80::1', '::1']
  const zone = Object.fromEntries(internal.map((address, index) => [`host-${index}.corp.example`, [address]]))
  const { check } = await checksWith(t, { zone: { ...zone, [OWN]: ['10.0.0.5'] } })
  const { checks, records } = await check([...Object.keys(zone), 'absent.corp.example'])
  for (const { domain, dns } of checks) assert.deepEqual(dns, { state: 'NOWHERE', addresses: [] }, domain)
  assert.deepEqual(records, [{ type: 'CNAME', value: OWN }], 'nor the private address of the service itself')
})

test('addresses that the operator gave count, private ones too, in whatever form they are written', async (t) => {
  const { check, connections, dns } = await checksWith(t, {
    publicAddresses: ['192.168.7.7', '2001:DB8:0:0::0010'],
    tlsPort: 8443,
    zone: { 'lan.example': ['192.168.7.7'], 'six.example': ['2001:db8::10'] },
  })
  const { checks, records } = await check(['lan.example', 'six.example'])
  assert.deepEqual(
    checks.map(({ dns }) => dns),
    [
      { state: 'HERE', addresses: ['192.168.7.7'] },
      { state: 'HERE', addresses: ['2001:db8::10'] },
    ],
  )
  assert.deepEqual(records.slice(1), [
    { type: 'A', value: '192.168.7.7' },
    { type: 'AAAA', value: '2001:db8::10' },
  ])
  assert.deepEqual(connections.toSorted(), ['lan.example at 192.168.7.7 8443', 'six.example at 2001:db8::10 8443'])
  assert.ok(!dns.asked.includes(OWN))
})

test('where the service does not know its own address, it says so and shows what DNS has', async (t) => {
  const { checks, connections } = await checksWith(t, { zone: { 'www.example': ['198.51.100.7'] } })
  const result = await checks.check({ accountId: 'a', ownHost: 'label.localhost', domains: ['www.example'] })
  assert.deepEqual(result.checks[0]?.dns, { state: 'UNKNOWN', addresses: ['198.51.100.7'] })
  assert.deepEqual([result.checks[0]?.certificate, result.records, connections], [{ state: 'NOT_CHECKED' }, [], []])
})

test('an answer is used for a minute, or for ten seconds where a fresh one is wanted; those who ask at once share it', async (t) => {
  const { check, dns, clock } = await checksWith(t, { publicAddresses: ['203.0.113.10'] })
  const questions = () => dns.asked.length / 2
  await Promise.all(Array.from({ length: 20 }, () => check(['www.example'])))
  assert.equal(questions(), 1)
  await check(['www.example'], true)
  assert.equal(questions(), 1)
  await clock.advance(10_000)
  await check(['www.example'])
  assert.equal(questions(), 1)
  dns.zone.set('www.example', ['203.0.113.10'])
  assert.equal((await check(['www.example'], true)).checks[0]?.dns.state, 'HERE')
  assert.equal(questions(), 2)
  await clock.advance(60_000)
  await check(['www.example'])
  assert.equal(questions(), 3)
})

test('an account has so many names looked up; another one is not held up by it', async (t) => {
  const { checks, dns, clock } = await checksWith(t, {
    publicAddresses: ['203.0.113.10'],
    rate: { atOnce: 60, perSecond: 1 },
  })
  const ask = (accountId: string, first: number) =>
    checks.check({
      accountId,
      ownHost: OWN,
      domains: Array.from({ length: 50 }, (_, index) => `site-${first + index}.example`),
    })
  await ask('a', 0)
  await assert.rejects(ask('a', 50), { reason: 'TOO_MANY_CHECKS', retryAfterSeconds: 40 })
  await ask('a', 0)
  await ask('b', 100)
  assert.equal(dns.asked.length, 200)
  await clock.advance(40_000)
  await ask('a', 50)
})

test('a DNS server that does not answer holds up neither the caller nor more than a few lookups of its account', async (t) => {
  const names = Array.from({ length: 50 }, (_, index) => `slow-${index}.example`)
  const gate = Promise.withResolvers<void>()
  let [running, maxRunning] = [0, 0]
  const { checks, clock } = await checksWith(t, {
    publicAddresses: ['203.0.113.10'],
    async lookUp(name) {
      if (name.startsWith('quick')) return { addresses: ['203.0.113.10'] }
      maxRunning = Math.max(maxRunning, ++running)
      await gate.promise
      running--
      return 'no answer'
    },
  })
  const slow = checks.check({ accountId: 'a', ownHost: OWN, domains: names })
  await until(async () => running > 0)
  const quick = await checks.check({ accountId: 'b', ownHost: OWN, domains: ['quick.example'] })
  assert.equal(quick.checks[0]?.dns.state, 'HERE')
  await clock.advance(10_000)
  assert.deepEqual(new Set((await slow).checks.map(({ dns }) => dns.state)), new Set(['CHECKING']))
  assert.equal(maxRunning, 4)
  gate.resolve()
  await until(async () => {
    const { checks: now } = await checks.check({ accountId: 'a', ownHost: OWN, domains: names })
    return now.every(({ dns }) => dns.state === 'NO_ANSWER')
  })
})

test('thousands of addresses for one name are not passed on', async (t) => {
  const many = Array.from({ length: 28 }, (_, index) => `198.51.100.${index}`)
  const { check } = await checksWith(t, { publicAddresses: ['203.0.113.10'], zone: { 'many.example': many } })
  assert.equal((await check(['many.example'])).checks[0]?.dns.addresses.length, 8)
})

const skip = HAS_OPENSSL ? false : 'needs openssl'

test('a certificate is judged as by a browser, and no data is sent to the server', { skip }, async (t) => {
  const ask = async (certificate: Parameters<typeof makeCertificate>[1], laterMs = 0) => {
    const { port, names } = await startTls(t, await makeCertificate(t, certificate))
    const check = await readCertificate({
      address: '127.0.0.1',
      port,
      name: 'www.example.com',
      now: () => Date.now() + laterMs,
    })
    assert.deepEqual(names, ['www.example.com'])
    return check
  }
  const own = await ask({ names: ['www.example.com'] })
  assert.deepEqual([own.state, own.issuer], ['SELF_SIGNED', 'Test Issuer'])
  assert.ok(Date.parse(own.validUntil ?? '') > Date.now())
  const yearMs = 365 * 24 * 3600 * 1000
  assert.equal((await ask({ names: ['www.example.com'] }, yearMs)).state, 'EXPIRED')
  assert.equal((await ask({ names: ['www.example.com'] }, -yearMs)).state, 'NOT_YET_VALID')
  assert.equal((await ask({ names: ['other.example.com', '*.www.example.com'] })).state, 'WRONG_NAME')
})

test('no answer, an answer that is no TLS, and an aborted handshake have different states', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number }
  const ask = () => readCertificate({ address: '127.0.0.1', port, name: 'www.example.com' })
  assert.deepEqual(await ask(), { state: 'MISSING' })
  server.close()
  await once(server, 'close')
  assert.deepEqual(await ask(), { state: 'NO_ANSWER' })
})
