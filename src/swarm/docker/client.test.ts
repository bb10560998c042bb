/** A hostile or broken engine: a real server on a Unix socket that answers what it should not. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { Secret } from '../../base/index.ts'
import { createDocker, isOlder } from './client.ts'

async function engine(t: TestContext, answer: RequestListener, timeoutMs = 5000) {
  const socketPath = join(await temporaryFolder(t), 'docker.sock')
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const login = { user: 'user', password: new Secret('word'), registry: 'registry.example' }
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
    assert.deepEqual(JSON.parse(Buffer.from(String(request.headers['x-registry-auth']), 'base64url').toString()), {
      username: 'user',
      password: 'word',
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
