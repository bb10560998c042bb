/** A hostile or broken engine: a real server on a Unix socket that answers what it should not. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { Secret } from '../../base/index.ts'
import { createDocker, isOlder } from './client.ts'

async function engine(t: TestContext, answer: RequestListener, timeoutMs = 5000) {
  const socketPath = join(await temporaryFolder(t), 'docker.sock')
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const login = { user: 'user', password: new Secret('secret'), registry: 'registry.example' }
  const docker = createDocker({ address: { socketPath }, timeoutMs, registryLogin: login })
  t.after(() => docker.close())
  return docker
}

test('an engine that is too old is refused', async (t) => {
  const docker = await engine(t, (_, response) => response.end('{"ApiVersion":"1.43","Version":"24.0.7"}'))
  await assert.rejects(docker.check(), {
    name: 'Problem',
    reason: 'ISOLATION_MISSING',
    message: /Docker 24\.0\.7 .*1\.43/,
  })
})

test('versions are compared as numbers', () => {
  assert.deepEqual(
    [isOlder('1.9', '1.44'), isOlder('1.44', '1.44'), isOlder('1.100', '1.44'), isOlder('20.10.24+dfsg1', '25.0')],
    [true, false, false, true],
  )
  assert.equal(isOlder('28.5.2+dfsg4', '25.0'), false)
  assert.equal(isOlder('', '25.0'), true)
})

test('an answer without end is not read to its end', async (t) => {
  const docker = await engine(t, (_, response) => {
    const piece = Buffer.alloc(64 * 1024, ' ')
    const more = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more)
    more()
  })
  await assert.rejects(docker.service('a'), { name: 'DockerUnreachable', message: /more than 1048576 bytes/ })
})

test('an engine that does not answer in time is an error, and so is an answer that stops', async (t) => {
  const silent = await engine(t, () => undefined, 200)
  await assert.rejects(silent.nodes(), { name: 'DockerUnreachable', message: /no whole answer within 0\.2 seconds/ })
  const stopped = await engine(t, (_, response) => response.write('['), 200)
  await assert.rejects(stopped.nodes(), { name: 'DockerUnreachable', message: /no whole answer/ })
  const cut = await engine(t, (_, response) => response.write('[', () => response.destroy()))
  await assert.rejects(cut.nodes(), { name: 'DockerUnreachable' })
  const other = await engine(t, (_, response) => response.end('<html>'))
  await assert.rejects(other.nodes(), { name: 'DockerUnreachable', message: /JSON/ })
})

test("an error has Docker's words, bounded, and never those of the request", async (t) => {
  const docker = await engine(t, (_, response) => {
    response.statusCode = 500
    response.end(JSON.stringify({ message: `rpc error: ${'x'.repeat(10_000)}` }))
  })
  const failing = docker.createSecret('name', {}, Buffer.from('hidden'))
  await assert.rejects(failing, (error: Error) => {
    assert.match(error.message, /^Docker refused POST \/v1\.44\/secrets\/create \(500\): rpc error: x+$/)
    return error.message.length < 700 && !error.message.includes('hidden')
  })
})

test('an update that is out of sequence is tried again with what is there now, and not for ever', async (t) => {
  let version = 0
  let updates = 0
  const docker = await engine(t, (request, response) => {
    request.resume()
    if (request.method === 'GET')
      return response.end(JSON.stringify({ ID: 's', Version: { Index: ++version }, Spec: {} }))
    updates += 1
    assert.match(request.url ?? '', new RegExp(`/update\\?version=${version}$`))
    assert.match(String(request.headers['x-registry-auth']), /^[\w-]+={1,2}$/)
    assert.deepEqual(JSON.parse(Buffer.from(String(request.headers['x-registry-auth']), 'base64url').toString()), {
      username: 'user',
      password: 'secret',
      serveraddress: 'registry.example',
    })
    if (updates === 3) return response.end('{}')
    response.statusCode = 500
    return response.end('{"message":"rpc error: code = Unknown desc = update out of sequence"}')
  })
  await docker.changeService('s', ({ Spec }) => Spec)
  assert.equal(updates, 3)
  await assert.rejects(
    docker.changeService('s', ({ Spec }) => Spec),
    /out of sequence/,
  )
  assert.equal(updates, 8)
})

/** A CA of its own with a certificate of the engine and one of the service, as `dockerd --tlsverify` has them. */
async function certificates(t: TestContext) {
  const folder = await temporaryFolder(t)
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: folder })
  const fresh = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  await openssl(...fresh, '-x509', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca', '-days', '2')
  for (const name of ['engine', 'service']) {
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`]
    await openssl(...fresh, ...request, '-addext', 'subjectAltName=IP:127.0.0.1')
    const signed = ['-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-copy_extensions', 'copy']
    await openssl('x509', '-req', ...signed, '-out', `${name}.pem`, '-days', '2')
  }
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const of = async (name: string) => ({ cert: await read(`${name}.pem`), key: await read(`${name}.key`) })
  return { ca: await read('ca.pem'), engine: await of('engine'), service: await of('service') }
}

test('by TCP, both sides prove who they are', async (t) => {
  const { ca, engine: own, service } = await certificates(t)
  const options = { ca, ...own, requestCert: true, rejectUnauthorized: true }
  const server = createTlsServer(options, (_, response) => response.end('[]'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const open = (tls: { ca: string; cert: string; key: string }) => {
    const docker = createDocker({ address: { host: '127.0.0.1', port, tls }, timeoutMs: 5000 })
    t.after(() => docker.close())
    return docker
  }
  assert.deepEqual(await open({ ca, ...service }).nodes(), [])
  const stranger = await certificates(t)
  await assert.rejects(open({ ca, ...stranger.service }).nodes(), { name: 'DockerUnreachable' })
  const wrongEngine = { ca: stranger.ca, ...service }
  await assert.rejects(open(wrongEngine).nodes(), { name: 'DockerUnreachable', message: /certificate/ })
})
