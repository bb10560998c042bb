/** What was reached is on disk after every step: a process that dies loses no key and orders nothing twice. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startCaProxy } from '../support/certificates/ca-proxy.ts'
import { DAY_MS, MINUTE_MS, startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE, startPebble } from '../support/certificates/pebble.ts'

const WORKER = fileURLToPath(new URL('../support/certificates/process.ts', import.meta.url))

const count = (log: string, line: string): number => log.split(line).length - 1

/** The process is killed when it asks the CA for the path: before the CA gets the request, or before its answer arrives. */
const STEPS = [
  ['before the account is made', '/sign-me-up', 'before'],
  ['after the account was made', '/sign-me-up', 'after'],
  ['before the order', '/order-plz', 'before'],
  ['after the order, before it is recorded', '/order-plz', 'after'],
  ['before the proof', '/chalZ/', 'before'],
  ['after the proof', '/chalZ/', 'after'],
  ['before the request', '/finalize-order/', 'before'],
  ['after the request', '/finalize-order/', 'after'],
  ['before the download', '/certZ/', 'before'],
  ['after the download', '/certZ/', 'after'],
] as const

for (const [when, path, moment] of STEPS) {
  test(`after a kill -9 ${when}, the next process goes on`, NEEDS_PEBBLE, async (t) => {
    const on = await startCertificates(t, { switches: { PEBBLE_WFE_NONCEREJECT: '0' } })
    const { id } = await on.accounts.create('one')
    on.addSite(id, ['www.example.com'])
    await on.stop()
    let isHere = (_asked: { method: string; path: string }): boolean => false
    const here = Promise.withResolvers<void>()
    const hold = async (asked: { method: string; path: string }) => {
      if (!isHere(asked)) return
      here.resolve()
      await new Promise(() => undefined)
    }
    const proxy = await startCaProxy(t, on.pebble, {
      async before(asked) {
        if (moment === 'before') await hold(asked)
        return undefined
      },
      async after(asked, answer) {
        if (moment === 'after') await hold(asked)
        return answer
      },
    })
    isHere = ({ method, path: asked }) => method === 'POST' && asked.startsWith(path)
    const settings = { ...on.settings, directory: proxy.directory, ca: [proxy.ca] }
    const child = fork(WORKER, [
      JSON.stringify({ file: on.file, acme: settings, sites: on.sites, dns: on.dns.address }),
    ])
    t.after(() => child.kill('SIGKILL'))
    child.on('message', async ({ what, given }: { what: 'setChallenges' | 'setCertificates'; given: never }) => {
      await on.edge.edge[what](given)
      if (child.connected) child.send('done')
    })
    const exited = once(child, 'exit')
    const early = exited.then(([code]) => assert.fail(`it ended with ${code} before it was killed`))
    await Promise.race([here.promise, early])
    early.catch(() => undefined)
    child.kill('SIGKILL')
    await exited
    isHere = () => false
    const before = await on.stateOf('www.example.com')
    const next = await on.open(settings)
    await next.round()
    const issued = await on.stateOf('www.example.com')
    assert.deepEqual(
      [issued.state, issued.failure, issued.orderUrl, issued.sealedOrderKey],
      ['ISSUED', null, null, null],
    )
    if (before.sealedOrderKey) assert.equal(issued.sealedKey, before.sealedOrderKey, 'the key of the order is used')
    // An order that was made and not recorded cannot be found again.
    const isLost = path === '/order-plz' && moment === 'after'
    assert.equal(count(on.pebble.log(), 'Added order'), isLost ? 2 : 1)
    assert.equal(on.edge.certificates()[0]?.chain, issued.chain)
    assert.deepEqual(on.edge.challenges(), { http: {}, alpn: {} })
  })
}

test('processes that work at once order a name once', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const others = await Promise.all(['b', 'c'].map((name) => on.open({ owner: `unknown 1 unknown ${name}` })))
  const all = [on, ...others]
  for (const { round } of all) await round()
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await Promise.all(all.map(({ round }) => round()))
  assert.equal((await on.stateOf('www.example.com')).state, 'ISSUED')
  assert.equal(count(on.pebble.log(), 'Added order'), 1)
})

test('a CA that lost the account gets it again, with the same key', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.round()
  await on.pebble.stop()
  const { httpPort, tlsPort } = on.edge
  const port = Number(new URL(on.pebble.directory).port)
  const again = await startPebble(t, { httpPort, tlsPort, dns: on.dns.address, port })
  const next = await on.open({ ca: [again.ca] })
  on.addSite(id, ['next.example.com'])
  await next.round()
  assert.equal((await on.stateOf('next.example.com')).failure?.type, 'accountDoesNotExist')
  on.clock.move(2 * MINUTE_MS)
  await next.round()
  assert.equal((await on.stateOf('next.example.com')).state, 'ISSUED')
})

test('keys are in the database sealed, and nowhere in the clear', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.round()
  const [certificate] = on.edge.certificates()
  assert.ok(certificate)
  const secret = certificate.key.split('\n')[1] ?? ''
  assert.ok(secret.length > 40)
  for (const file of [on.file, `${on.file}-wal`]) {
    const bytes = await readFile(file, 'latin1')
    assert.ok(bytes.includes('www.example.com') || file.endsWith('.db'))
    assert.ok(!bytes.includes('PRIVATE KEY') && !bytes.includes(secret), file)
  }
  const { sealedKey } = await on.stateOf('www.example.com')
  assert.match(sealedKey ?? '', /^v1\./)
})

test('the CA tells when to renew, also that it is now', NEEDS_PEBBLE, async (t) => {
  const on = await startCertificates(t)
  const { id } = await on.accounts.create('one')
  on.addSite(id, ['www.example.com'])
  await on.stop()
  let window = { start: on.clock.now() + 30 * DAY_MS, end: on.clock.now() + 40 * DAY_MS }
  const asked: string[] = []
  const replaced: string[] = []
  // Debian's CA does not tell, so the proxy does, in the directory and by an address of its own.
  const proxy: { directory: string; ca: string } = await startCaProxy(t, on.pebble, {
    before({ path, body }) {
      if (path === '/order-plz') replaced.push(payloadOf(body).replaces ?? '')
      if (!path.startsWith('/renewal-info/')) return undefined
      asked.push(path.slice('/renewal-info/'.length))
      const [start, end] = [window.start, window.end].map((time) => new Date(time).toISOString())
      return {
        status: 200,
        headers: { 'retry-after': '21600' },
        text: JSON.stringify({ suggestedWindow: { start, end } }),
      }
    },
    after({ path }, answer) {
      if (path !== '/dir') return answer
      const renewalInfo = new URL('/renewal-info', proxy.directory)
      return { ...answer, text: JSON.stringify({ ...JSON.parse(answer.text), renewalInfo }) }
    },
  })
  const next = await on.open({ directory: proxy.directory, ca: [proxy.ca] })
  await next.round()
  const first = await on.stateOf('www.example.com')
  assert.equal(first.state, 'ISSUED')
  on.clock.move(2 * MINUTE_MS)
  await next.round()
  const told = await on.stateOf('www.example.com')
  assert.equal(told.chain, first.chain)
  assert.ok((told.renewTime ?? 0) >= window.start && (told.renewTime ?? 0) <= window.end)
  assert.match(asked[0] ?? '', /^[\w-]+\.[\w-]+$/)
  // As for a certificate that the CA is about to revoke.
  window = { start: on.clock.now() - 2 * DAY_MS, end: on.clock.now() - DAY_MS }
  on.clock.move(7 * 60 * MINUTE_MS)
  await next.round()
  const renewed = await on.stateOf('www.example.com')
  assert.equal(renewed.state, 'ISSUED')
  assert.notEqual(renewed.chain, first.chain)
  assert.ok(replaced.includes(asked[0] ?? ''), 'the order names the certificate that it replaces')
})

const payloadOf = (body: string): { replaces?: string } =>
  JSON.parse(Buffer.from(JSON.parse(body).payload, 'base64url').toString('utf8'))
