import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { untilStill } from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { build } from '../../../test/support/modules/trace.ts'
import type { Plan } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import { createManifest, type SiteRules, writeManifest } from '../../edge/index.ts'
import type { Running } from '../../runtime/index.ts'
import { createAskOrigin } from './origin.ts'

const NEVER = new AbortController().signal
const planOf = (kind: 'static' | 'server') => ({ output: { kind } }) as Plan
const server = build('build 1', { plan: planOf('server') })
const noOutputs = { edgeFolderOf: () => assert.fail('an app has no manifest'), has: async () => false }

async function app(t: TestContext, listener: RequestListener, state: resources.InstanceState = 'RUNNING') {
  const listening = createServer(listener)
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listening.closeAllConnections()
    listening.close()
  })
  const { port } = listening.address() as AddressInfo
  const instance = { id: 'i', host: '127.0.0.1', port } as Running['instance']
  const ask = createAskOrigin({
    outputs: noOutputs,
    instances: { of: () => ({ state, restarts: 0, running: 1, instance }) },
  })
  return (address = '/', signal = NEVER) => ask('d', server, new URL(address, 'https://shop.example'), signal)
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

test('an app gets a request like that of a browser, past the cache, and only the digest of its body is shown', async (t) => {
  const seen: unknown[] = []
  const ask = await app(t, ({ method, url, headers }, response) => {
    seen.push(method, url, headers.host, headers['x-forwarded-proto'], headers['accept-encoding'], headers.range)
    response.setHeader('etag', '"x"').setHeader('cache-control', 's-maxage=5').setHeader('set-cookie', 'id=secret')
    response.end('hello')
  })
  const reply = await ask('/news?page=2')
  assert.deepEqual(seen, ['GET', '/news?page=2', 'shop.example', 'https', 'identity', undefined])
  assert.ok(reply.kind === 'APP')
  assert.deepEqual([reply.status, reply.etag, reply.cacheControl, reply.setsCookie], [200, '"x"', 's-maxage=5', true])
  assert.deepEqual(reply.body, { bytes: 5, digest: digestOf('hello') })
  assert.doesNotMatch(JSON.stringify(reply), /hello|secret/)
})

test('a redirect is an answer, and is not followed', async (t) => {
  let asked = 0
  const ask = await app(t, (_, response) => {
    asked++
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  const reply = await ask()
  assert.deepEqual([reply.kind, 'status' in reply && reply.status, asked], ['APP', 302, 1])
})

test('a compressed body has no digest: it cannot be compared', async (t) => {
  const ask = await app(t, (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('hello')))
  const reply = await ask()
  assert.ok(reply.kind === 'APP' && reply.body?.digest === undefined && (reply.body?.bytes ?? 0) > 0)
})

test('a body that is too long, or never ends, leaves what the headers say', async (t) => {
  const long = await app(t, (_, response) => response.end(Buffer.alloc(17 * 1024 * 1024)))
  const reply = await long()
  assert.ok(reply.kind === 'APP' && reply.body === undefined)
  const timeout = new AbortController()
  const endless = await app(t, (_, response) => {
    response.write('data: x\n\n')
    void untilStill(() => response.socket?.bytesWritten ?? 0).then(() => timeout.abort())
  })
  const streamed = await endless('/', timeout.signal)
  assert.ok(streamed.kind === 'APP' && streamed.status === 200 && streamed.body === undefined)
})

test('an app that breaks off its response counts as silent', async (t) => {
  const ask = await app(t, ({ socket }) => socket.destroy())
  assert.deepEqual(await ask(), { kind: 'SILENT', why: 'broke off its answer' })
})

for (const [state, why] of [
  ['ASLEEP', 'sleeps until the next visitor'],
  ['CRASH_LOOP', 'keeps crashing'],
  ['STARTING', 'is starting'],
  ['RESTARTING', 'died and is being started again'],
] as const) {
  test(`an app that is ${state} is not asked`, async (t) => {
    const ask = await app(t, () => assert.fail('it was asked'), state)
    assert.deepEqual(await ask(), { kind: 'SILENT', why })
  })
}

test('files are looked up as the edge looks them up', async (t) => {
  const folder = await temporaryFolder(t)
  const [files, edge] = [join(folder, 'files'), join(folder, 'edge')]
  await mkdir(join(files, 'about'), { recursive: true })
  await mkdir(edge)
  for (const name of ['index.html', 'about/index.html', '404.html']) await writeFile(join(files, name), name)
  await writeManifest(edge, await createManifest(files, edge, { singlePage: false }))
  const ask = createAskOrigin({
    outputs: { edgeFolderOf: () => edge, has: async () => true },
    instances: { of: () => undefined },
  })
  const made = build('build 1', { plan: planOf('static'), output: `sha256:${'a'.repeat(64)}` })
  const look = (path: string) => ask('d', made, new URL(path, 'https://shop.example'), NEVER)
  assert.deepEqual(await look('/?x'), {
    kind: 'FILE',
    status: 200,
    file: '/index.html',
    bytes: 10,
    digest: digestOf('index.html'),
  })
  assert.deepEqual(await look('/about?x=1'), { kind: 'REDIRECT', status: 301, location: '/about/?x=1' })
  const missing = await look('/nothing')
  assert.deepEqual([missing.kind, 'status' in missing && missing.status], ['FILE', 404])
  assert.deepEqual(await look('/%ff'), { kind: 'MISSING', status: 400 })
})

test('rules of the site are applied, and a path that leads to another host is not asked for', async (t) => {
  const [files, edge] = [await temporaryFolder(t), await temporaryFolder(t)]
  await writeFile(join(files, 'index.html'), 'home')
  const rules: SiteRules = {
    redirects: [
      { from: '/old', to: { path: '/new' }, status: 308 },
      { from: '/api', to: { origin: 'https://api.example.com', path: '/' }, status: 200 },
    ],
    headers: [],
  }
  await writeManifest(edge, await createManifest(files, edge, { singlePage: false, rules }))
  const ask = createAskOrigin({
    outputs: { edgeFolderOf: () => edge, has: async () => true },
    instances: { of: () => undefined },
  })
  const made = build('build 1', { plan: planOf('static'), output: `sha256:${'a'.repeat(64)}` })
  const look = (path: string) => ask('d', made, new URL(path, 'https://shop.example'), NEVER)
  assert.deepEqual(await look('/old?x=1'), { kind: 'REDIRECT', status: 308, location: '/new?x=1' })
  assert.deepEqual(await look('/api'), { kind: 'SILENT', why: 'sends this path on to https://api.example.com' })
})

test('the list of a site with very many files is not read for one address', async (t) => {
  const edge = await temporaryFolder(t)
  const files = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`/${n}.html`, { size: n, digest: 'x' }]))
  await writeManifest(edge, { files, singlePage: false, notFound: null, basePath: '' })
  const ask = createAskOrigin({
    outputs: { edgeFolderOf: () => edge, has: async () => true },
    instances: { of: () => undefined },
  })
  const made = build('build 1', { plan: planOf('static'), output: `sha256:${'a'.repeat(64)}` })
  const bytesRead = async () => Number(/^rchar: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1])
  const before = await bytesRead()
  const found = await ask('d', made, new URL('https://shop.example/49999'), NEVER)
  assert.deepEqual([found.kind, 'bytes' in found && found.bytes], ['FILE', 49_999])
  assert.ok((await bytesRead()) - before < 16 * 1024)
})
