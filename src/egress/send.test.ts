/** Calls that the service makes for tenants, against servers on this machine. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HAS_OPENSSL, makeCertificate } from '../../test/support/edge/tls.ts'
import { createEgress, EgressFailed, EgressRefused } from './send.ts'

const LIMITS = { maxBytes: 100, timeoutMs: 10_000 }

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function open(t: TestContext, answer: RequestListener) {
  const port = await listen(t, createServer(answer))
  const rules = { allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`], ownAddresses: [], blockedNetworks: [] }
  return { port, url: `http://127.0.0.1:${port}/hook?a=b`, egress: createEgress(rules) }
}

const closed = (resolve: (host: string) => Promise<string[]>) =>
  createEgress({ allowedHosts: [], ownAddresses: [], blockedNetworks: [], resolve })

test('a host that the operator allows is called, with its name, the headers and the body', async (t) => {
  const seen: string[] = []
  const { port, egress } = await open(t, async (request, response) => {
    const body = (await request.toArray()).join('')
    seen.push(`${request.method} ${request.headers.host} ${request.url} ${request.headers['x-one']} ${body}`)
    response.writeHead(202, { 'retry-after': '7' }).end('taken')
  })
  const call = { method: 'POST', url: `http://localhost:${port}/hook?a=b`, headers: { 'x-one': '1' }, body: '{}' }
  const { status, headers, body } = await egress.send(call, LIMITS)
  assert.deepEqual([status, headers['retry-after'], body.toString()], [202, '7', 'taken'])
  assert.deepEqual(seen, [`POST localhost:${port} /hook?a=b 1 {}`])
})

test('a redirect is an answer, and is not followed', async (t) => {
  const { egress, url } = await open(t, (_request, response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  })
  assert.equal((await egress.send({ method: 'POST', url }, LIMITS)).status, 302)
})

test('of an endless answer only the beginning is read', async (t) => {
  const { egress, url } = await open(t, (_request, response) => {
    const more = () => {
      while (response.write('x'.repeat(1000)));
    }
    response.on('drain', more)
    more()
  })
  assert.equal((await egress.send({ method: 'POST', url }, LIMITS)).body.length, LIMITS.maxBytes)
})

test('a receiver that does not answer is given up', async (t) => {
  const { egress, url } = await open(t, () => undefined)
  await assert.rejects(egress.send({ method: 'POST', url }, { ...LIMITS, timeoutMs: 200 }), (error: Error) => {
    return error instanceof EgressFailed && /no answer within/.test(error.message)
  })
})

test('an address inside is refused, by its number and by its name', async () => {
  const egress = closed(async () => ['93.184.215.14', '10.0.0.1'])
  const refused = [
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/',
    'https://a.localhost./',
    'https://metadata.google.internal/',
    'http://93.184.215.14/',
    'ftp://example.com/',
    'https://user:secret@example.com/',
    'nothing',
    'https://rebinding.example/',
  ]
  for (const url of refused) await assert.rejects(egress.send({ method: 'POST', url }, LIMITS), EgressRefused, url)
})

test('a name is resolved once, and the address that was checked is the one that is called', async () => {
  let asked = 0
  // The second answer would lead inside.
  const egress = closed(async () => (asked++ === 0 ? ['192.0.2.1'] : ['127.0.0.1']))
  const call = egress.send({ method: 'POST', url: 'https://rebinding.example/' }, { ...LIMITS, timeoutMs: 300 })
  await assert.rejects(call, EgressFailed)
  assert.equal(asked, 1)
})

test('a name without an address may have one later', async () => {
  const none = closed(async () => [])
  await assert.rejects(none.send({ method: 'POST', url: 'https://gone.example/' }, LIMITS), EgressFailed)
})

test('over TLS the certificate is checked for the name', { skip: !HAS_OPENSSL }, async (t) => {
  const certificate = await makeCertificate(t, { names: ['localhost'] })
  const port = await listen(
    t,
    createTlsServer(certificate, (request, response) => {
      response.end(String((request.socket as { servername?: string }).servername))
    }),
  )
  const rules = { allowedHosts: [`localhost:${port}`, `127.0.0.1:${port}`], ownAddresses: [], blockedNetworks: [] }
  const call = (host: string) => ({ method: 'GET', url: `https://${host}:${port}/` })
  await assert.rejects(createEgress(rules).send(call('localhost'), LIMITS), /self-signed/)
  const trusting = createEgress({ ...rules, ca: certificate.cert })
  assert.equal((await trusting.send(call('localhost'), LIMITS)).body.toString(), 'localhost')
  await assert.rejects(trusting.send(call('127.0.0.1'), LIMITS), /IP: 127.0.0.1/)
})
