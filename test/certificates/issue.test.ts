/** Certificates are got and renewed by themselves, from a real CA. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { LeadershipLost, statement } from '../../src/storage/index.ts'
import { DAY_MS, MINUTE_MS, startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE, startPebble } from '../support/certificates/pebble.ts'
import { LEADING } from '../support/leading.ts'

test('every name of every site gets its certificate, once', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t, { portalHost: 'portal.example.com' })
  const one = await on.accounts.create('one')
  on.dns.zone.set('portal.example.com', ['127.0.0.1'])
  on.addSite(one.id, ['www.example.com', 'example.com'], 'shop')
  await on.round()
  const names = on.edge.certificates().flatMap(({ names }) => names)
  assert.deepEqual(names.toSorted(), ['example.com', 'portal.example.com', 'shop.sites.example.com', 'www.example.com'])
  for (const { names, chain, key } of on.edge.certificates()) {
    const leaf = new X509Certificate(chain)
    assert.equal(leaf.subjectAltName, `DNS:${names[0]}`)
    assert.match(key, /BEGIN PRIVATE KEY/)
  }
  for (const { state, failure } of await on.all()) assert.deepEqual([state, failure], ['ISSUED', null])
  assert.deepEqual(on.edge.challenges(), { http: {}, alpn: {} })
  const [asked, told] = [on.edge.asked.length, on.edge.sets.certificates]
  await on.round()
  assert.deepEqual([on.edge.asked.length, on.edge.sets.certificates], [asked, told])
})

test('another process than the leader tells its edges what there is, and orders nothing', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  const follower = await on.open({ owner: 'follower', isLeading: false })
  await follower.round()
  assert.deepEqual(await on.all(), [])
  await on.round()
  assert.equal((await on.stateOf('www.example.com')).state, 'ISSUED')
  const told = on.edge.sets.certificates
  await follower.round()
  assert.equal(on.edge.sets.certificates, told + 1)

  // It was frozen after it looked at its clock.
  const before = (await on.all()).length
  on.addSite(id, ['late.example.com'])
  const lost = await on.open({ owner: 'lost', isLeading: false })
  const check = () => Promise.reject(new LeadershipLost())
  const leading = lost.worker.lead({ ...LEADING, check })
  await lost.round()
  await leading.stop()
  assert.equal((await on.all()).length, before)
  await on.round()
  assert.equal((await on.stateOf('late.example.com')).state, 'ISSUED')
})

test('a name is ordered when it leads here, and not before', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  on.dns.zone.set('www.example.com', ['198.51.100.7'])
  await on.round()
  const waiting = await on.stateOf('www.example.com')
  assert.equal(waiting.state, 'WAITING_FOR_DNS')
  assert.equal(waiting.failure?.type, 'leadsElsewhere')
  assert.match(waiting.failure?.detail ?? '', /198\.51\.100\.7/)
  assert.equal(waiting.orderUrl, null)
  assert.deepEqual([on.edge.asked, on.pebble.log().includes('/order-plz ->')], [[], false])
  on.dns.zone.set('www.example.com', ['169.254.169.254', '10.0.0.1'])
  on.clock.move(MINUTE_MS)
  await on.round()
  const internal = await on.stateOf('www.example.com')
  assert.deepEqual([internal.state, internal.failure?.type], ['WAITING_FOR_DNS', 'noAddress'])
  assert.ok(!JSON.stringify(internal).includes('169.254'), 'an answer of an internal DNS server is not shown')
  on.dns.zone.set('www.example.com', ['127.0.0.1'])
  await on.round()
  assert.equal((await on.stateOf('www.example.com')).state, 'WAITING_FOR_DNS', 'it is not looked for before its time')
  on.clock.move(MINUTE_MS)
  await on.round()
  const issued = await on.stateOf('www.example.com')
  assert.deepEqual([issued.state, issued.failure, issued.attempts], ['ISSUED', null, 0])
})

test(
  'a refusal is kept in the words of the CA, and tried again after longer and longer pauses',
  NEEDS_PEBBLE,
  async (t) => {
    const on = await startCertificates(t, { challengeTypes: ['http-01'] })
    const { id } = await on.accounts.create('one')
    on.addSite(id, ['www.example.com'])
    const { edge } = on.edge
    const setChallenges = edge.setChallenges
    edge.setChallenges = async () => undefined
    const pauses: number[] = []
    for (let failures = 0; failures < 5; failures++) {
      await on.round()
      const { state, attempts, failure, nextTime, orderUrl } = await on.stateOf('www.example.com')
      assert.deepEqual([state, attempts, failure?.type, orderUrl], ['FAILED', failures + 1, 'unauthorized', null])
      assert.match(failure?.detail ?? '', /www\.example\.com|404|key authorization/i)
      assert.match(failure?.action ?? '', /www\.example\.com/)
      pauses.push(Math.round(((nextTime ?? 0) - (failure?.time ?? 0)) / MINUTE_MS))
      const asked = on.edge.asked.length
      await on.round()
      assert.equal(on.edge.asked.length, asked, 'the CA is not asked before its time')
      on.clock.move((nextTime ?? 0) - on.clock.now() + 1)
    }
    assert.deepEqual(pauses, [5, 30, 120, 720, 1440])
    edge.setChallenges = setChallenges
    await on.round()
    assert.equal((await on.stateOf('www.example.com')).state, 'ISSUED')
  },
)

test('if HTTP-01 fails, TLS-ALPN-01 is next, and is used for further names', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  const { edge } = on.edge
  const setChallenges = edge.setChallenges
  // As where port 80 leads to another server.
  edge.setChallenges = ({ alpn }) => setChallenges({ http: {}, alpn })
  await on.round()
  assert.equal((await on.stateOf('www.example.com')).state, 'FAILED')
  on.clock.move(10 * MINUTE_MS)
  await on.round()
  const issued = await on.stateOf('www.example.com')
  assert.deepEqual([issued.state, issued.challenge], ['ISSUED', 'tls-alpn-01'])
  on.addSite(id, ['next.example.com'])
  await on.round()
  const next = await on.stateOf('next.example.com')
  assert.deepEqual([next.state, next.challenge, next.attempts], ['ISSUED', 'tls-alpn-01', 0])
})

test(
  'a certificate is renewed at two thirds of its lifetime, and the old one is used until then',
  NEEDS_PEBBLE,
  async (t) => {
    const on = await startCertificates(t)
    const { id } = await on.accounts.create('one')
    on.addSite(id, ['www.example.com'])
    await on.round()
    const first = await on.stateOf('www.example.com')
    const [notBefore, notAfter] = [first.notBefore ?? 0, first.notAfter ?? 0]
    const due = notBefore + ((notAfter - notBefore) * 2) / 3
    assert.equal(first.renewTime, Math.floor(due))
    on.clock.move(due - on.clock.now() - MINUTE_MS)
    await on.round()
    assert.equal((await on.stateOf('www.example.com')).chain, first.chain)
    on.clock.move(2 * MINUTE_MS)
    const { edge } = on.edge
    const { setChallenges } = edge
    edge.setChallenges = async () => undefined
    await on.round()
    const failed = await on.stateOf('www.example.com')
    assert.deepEqual([failed.state, failed.chain, failed.failure?.type], ['RENEWING', first.chain, 'unauthorized'])
    assert.equal(on.edge.certificates()[0]?.chain, first.chain)
    edge.setChallenges = setChallenges
    on.clock.move(10 * MINUTE_MS)
    await on.round()
    const second = await on.stateOf('www.example.com')
    assert.equal(second.state, 'ISSUED')
    assert.notEqual(second.chain, first.chain)
    assert.equal(on.edge.certificates()[0]?.chain, second.chain)
    assert.ok(!publicKeyOf(second.chain).equals(publicKeyOf(first.chain)), 'it has a key of its own')
  },
)

test(
  'a name that is removed and comes back keeps its certificate; one that failed is forgotten',
  NEEDS_PEBBLE,
  async (t) => {
    const on = await startCertificates(t)
    const [one, two] = [await on.accounts.create('one'), await on.accounts.create('two')]
    on.addSite(one.id, ['www.example.com', 'away.example.com'])
    on.dns.zone.delete('away.example.com')
    await on.round()
    const { chain } = await on.stateOf('www.example.com')
    on.sites.length = 0
    await on.round()
    assert.deepEqual(await on.all(), [])
    assert.deepEqual(on.edge.certificates(), [])
    on.addSite(two.id, ['www.example.com'])
    await on.round()
    const back = await on.stateOf('www.example.com')
    assert.deepEqual([back.accountId, back.state, back.chain], [two.id, 'ISSUED', chain])
    on.sites.length = 0
    on.clock.move(6 * 365 * DAY_MS)
    await on.round()
    const rows = await on.sql.query(statement`SELECT id FROM certificates`)
    assert.deepEqual(rows, [])
  },
)

test('a CA that cannot be reached costs nothing but time', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.pebble.stop()
  await on.round()
  const failed = await on.stateOf('www.example.com')
  assert.deepEqual([failed.state, failed.failure?.type], ['FAILED', 'unreachable'])
  assert.ok((failed.nextTime ?? 0) - on.clock.now() < 2 * MINUTE_MS)
})

test('another CA, chosen by the operator, issues anew', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.round()
  const { chain } = await on.stateOf('www.example.com')
  await on.stop()
  // The other CA asks the same edge.
  const { httpPort, tlsPort } = on.edge
  const pebble = await startPebble(t, { httpPort, tlsPort, dns: on.dns.address })
  const next = await on.open({ directory: pebble.directory, ca: [pebble.ca] })
  await next.round()
  const issued = await on.stateOf('www.example.com')
  assert.equal(issued.state, 'ISSUED')
  assert.notEqual(issued.chain, chain)
})

const publicKeyOf = (chain: string | null) => new X509Certificate(chain ?? '').publicKey
