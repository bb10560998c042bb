/** The client against Debian's docker-registry, and on its bad days. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { Secret, systemClock } from '../../src/base/index.ts'
import {
  createRegistryClient,
  DigestMismatch,
  MANIFEST_TYPE,
  RegistryRefused,
  RegistryUnreachable,
} from '../../src/images/index.ts'
import type { Digest } from '../../src/storage/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { LOGIN, NEEDS_REGISTRY, startRegistry } from '../support/images/registry.ts'
import { answering, startRegistryProxy } from '../support/images/registry-proxy.ts'

const REPOSITORY = 'prefix/account/app'
const TIMEOUT_MS = 60_000

function clientOf(origin: string, more: Partial<Parameters<typeof createRegistryClient>[0]> = {}) {
  return createRegistryClient({ clock: systemClock, origin, userAgent: 'test', timeoutMs: TIMEOUT_MS, ...more })
}

async function blob(t: TestContext, size: number) {
  const file = join(await temporaryFolder(t), 'blob')
  const bytes = randomBytes(size)
  await writeFile(file, bytes)
  const digest: Digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  return { file, bytes, digest, size }
}

/** A manifest with these blobs; the first is its configuration. */
function manifestOf(blobs: { digest: Digest; size: number }[]): Buffer {
  const [config, ...layers] = blobs.map(({ digest, size }) => ({ mediaType: 'application/octet-stream', digest, size }))
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST_TYPE, config, layers }))
}

const SMALL = 1000
const LARGE = 12 * 1024 * 1024

test('blobs and a manifest are stored once, read again, and deleted', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const client = clientOf(registry.url)
  t.after(client.close)
  const [config, layer] = [await blob(t, SMALL), await blob(t, LARGE)]
  assert.equal(await client.pushBlob(REPOSITORY, config), true)
  assert.equal(await client.pushBlob(REPOSITORY, layer), true)
  assert.equal(await client.pushBlob(REPOSITORY, layer), false)
  const manifest = manifestOf([config, layer])
  const digest = await client.pushManifest(REPOSITORY, manifest, ['some-tag'])
  assert.ok(manifest.equals((await client.pullManifest(REPOSITORY, digest)) ?? Buffer.alloc(0)))
  const copy = `${layer.file}.copy`
  await client.pullBlob(REPOSITORY, { ...layer, file: copy })
  assert.ok(layer.bytes.equals(await readFile(copy)))
  await client.deleteManifest(REPOSITORY, digest)
  assert.equal(await client.hasManifest(REPOSITORY, digest), false)
  assert.equal(await client.pullManifest(REPOSITORY, digest), undefined)
  await client.deleteManifest(REPOSITORY, digest)
})

test('a registry that does not delete is said to need it enabled', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t, { mayDelete: false })
  const client = clientOf(registry.url)
  t.after(client.close)
  const config = await blob(t, SMALL)
  await client.pushBlob(REPOSITORY, config)
  const digest = await client.pushManifest(REPOSITORY, manifestOf([config]), [])
  await assert.rejects(client.deleteManifest(REPOSITORY, digest), /enable deletion/)
})

test('a registry with a password takes the right one', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t, { hasPassword: true })
  const client = clientOf(registry.url, { login: { ...LOGIN, password: new Secret(LOGIN.password) } })
  t.after(client.close)
  assert.equal(await client.pushBlob(REPOSITORY, await blob(t, SMALL)), true)
})

test('a wrong password is refused at once, with what to check and without the password', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t, { hasPassword: true })
  const client = clientOf(registry.url, { login: { user: LOGIN.user, password: new Secret('battery staple') } })
  t.after(client.close)
  await assert.rejects(client.pushBlob(REPOSITORY, await blob(t, SMALL)), (error: Error) => {
    assert.ok(error instanceof RegistryRefused)
    assert.match(error.message, /check registryUser and registryPassword/)
    const shown = inspect(error, { depth: 9 })
    assert.ok(!shown.includes('battery'))
    return !shown.includes(Buffer.from('headland:battery staple').toString('base64'))
  })
})

test('without a password, a registry that asks for one is refused with what to set', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t, { hasPassword: true })
  const client = clientOf(registry.url)
  t.after(client.close)
  await assert.rejects(client.pushBlob(REPOSITORY, await blob(t, SMALL)), /set registryUser and registryPassword/)
})

test('a token is got from the server that the registry names, and used until it is over', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const proxy = await startRegistryProxy(t, registry.url)
  proxy.set(({ path, headers }, incoming, outgoing) => {
    if (path.startsWith('/token')) {
      const isRight = headers.authorization === `Basic ${Buffer.from('u:p').toString('base64')}`
      outgoing.writeHead(isRight ? 200 : 401).end(JSON.stringify({ token: 'abc', expires_in: 300 }))
      return true
    }
    if (headers.authorization === 'Bearer abc') return false
    incoming.resume()
    const challenge = `Bearer realm="${proxy.url}/token",service="reg",scope="repository:x:pull"`
    outgoing.writeHead(401, { 'www-authenticate': challenge }).end()
    return true
  })
  const client = clientOf(proxy.url, { login: { user: 'u', password: new Secret('p') } })
  t.after(client.close)
  await client.pushBlob(REPOSITORY, await blob(t, SMALL))
  await client.pushBlob(REPOSITORY, await blob(t, SMALL))
  const tokens = proxy.seen.filter(({ path }) => path.startsWith('/token'))
  assert.deepEqual(
    tokens.map(({ path }) => path),
    ['/token?service=reg&scope=repository%3Ax%3Apull'],
  )
})

for (const status of [429, 500, 502, 503])
  test(`a registry that answers ${status} is asked again`, NEEDS_REGISTRY, async (t) => {
    const registry = await startRegistry(t)
    const proxy = await startRegistryProxy(t, registry.url)
    proxy.set(answering(2, ({ method }) => method === 'PUT', status, { 'retry-after': '0' }))
    const client = clientOf(proxy.url)
    t.after(client.close)
    const waits: string[] = []
    const sent = await client.pushBlob(REPOSITORY, await blob(t, SMALL), {
      onWait: ({ message }) => waits.push(message),
    })
    assert.equal(sent, true)
    assert.equal(waits.length, 2)
    assert.match(waits[0] ?? '', new RegExp(`answered ${status} \\(TOOMANYREQUESTS\\)`))
  })

test('it waits as long as the registry asks for', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const proxy = await startRegistryProxy(t, registry.url)
  proxy.set(answering(1, ({ method }) => method === 'POST', 429, { 'retry-after': '2' }))
  const client = clientOf(proxy.url)
  t.after(client.close)
  const waits: number[] = []
  await client.pushBlob(REPOSITORY, await blob(t, SMALL), { onWait: (_, waitMs) => waits.push(waitMs) })
  assert.deepEqual(waits, [2000])
})

test('a registry that is away is not asked for ever', async (t) => {
  const client = clientOf('http://127.0.0.1:1', { timeoutMs: 500 })
  t.after(client.close)
  await assert.rejects(client.pushBlob(REPOSITORY, await blob(t, SMALL)), RegistryUnreachable)
})

test('a wait ends with its signal', async (t) => {
  const client = clientOf('http://127.0.0.1:1')
  t.after(client.close)
  const stop = new AbortController()
  const pushed = client.pushBlob(REPOSITORY, await blob(t, SMALL), {
    signal: stop.signal,
    onWait: () => stop.abort(new Error('cancelled')),
  })
  await assert.rejects(pushed, /cancelled/)
})

test('an upload that is cut off is completed, and the registry has the right bytes', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const proxy = await startRegistryProxy(t, registry.url)
  let cuts = 0
  proxy.set(({ method }, incoming, outgoing) => {
    if (method !== 'PATCH' || cuts === 2) return false
    cuts += 1
    let received = 0
    incoming.on('data', (chunk: Buffer) => {
      received += chunk.byteLength
      if (received > LARGE / 3) incoming.destroy()
    })
    proxy.pass(incoming, outgoing)
    return true
  })
  const client = clientOf(proxy.url)
  t.after(client.close)
  const layer = await blob(t, LARGE)
  assert.equal(await client.pushBlob(REPOSITORY, layer), true)
  assert.equal(cuts, 2)
  await client.pullBlob(REPOSITORY, { ...layer, file: `${layer.file}.copy` })
})

test(
  'an upload goes on where the registry has it, and begins anew where the registry has forgotten it',
  NEEDS_REGISTRY,
  async (t) => {
    const registry = await startRegistry(t)
    const proxy = await startRegistryProxy(t, registry.url)
    // What has arrived is kept, and the answer is lost.
    let isLost = false
    proxy.set(({ method }, incoming, outgoing) => {
      if (method !== 'PUT' || isLost) return false
      isLost = true
      incoming.resume()
      outgoing.destroy()
      return true
    })
    const client = clientOf(proxy.url)
    t.after(client.close)
    const layer = await blob(t, LARGE)
    await client.pushBlob(REPOSITORY, layer)
    assert.equal(proxy.seen.filter(({ method }) => method === 'PATCH').length, 1)
    const other = await blob(t, LARGE)
    let isForgotten = false
    proxy.set(({ method, path }, incoming, outgoing) => {
      if (method === 'PUT' && !isForgotten) {
        incoming.resume()
        outgoing.destroy()
        return true
      }
      if (method !== 'GET' || !path.includes('/uploads/')) return false
      isForgotten = true
      outgoing.writeHead(404).end()
      return true
    })
    assert.equal(await client.pushBlob(REPOSITORY, other), true)
    await client.pullBlob(REPOSITORY, { ...other, file: `${other.file}.copy` })
  },
)

test('a download that is cut off goes on where it was', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const proxy = await startRegistryProxy(t, registry.url)
  const client = clientOf(proxy.url)
  t.after(client.close)
  const layer = await blob(t, LARGE)
  await client.pushBlob(REPOSITORY, layer)
  let isCut = false
  proxy.set(({ method }, _, outgoing) => {
    if (method !== 'GET' || isCut) return false
    isCut = true
    outgoing.writeHead(200, { 'content-length': LARGE })
    outgoing.write(layer.bytes.subarray(0, LARGE / 2), () => outgoing.destroy())
    return true
  })
  await client.pullBlob(REPOSITORY, { ...layer, file: `${layer.file}.copy` })
  assert.match(proxy.seen.at(-1)?.headers.range ?? '', /^bytes=[1-9]\d{5,}-$/)
})

test('other bytes than those asked for are refused, be they longer, shorter or altered', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const proxy = await startRegistryProxy(t, registry.url)
  const client = clientOf(proxy.url)
  t.after(client.close)
  const layer = await blob(t, SMALL)
  for (const bytes of [Buffer.concat([layer.bytes, layer.bytes]), randomBytes(SMALL)]) {
    proxy.set((_, __, outgoing) => {
      outgoing.writeHead(200).end(bytes)
      return true
    })
    const file = `${layer.file}.${bytes.byteLength}`
    await assert.rejects(client.pullBlob(REPOSITORY, { ...layer, file }), DigestMismatch)
  }
  await assert.rejects(client.pullManifest(REPOSITORY, layer.digest), DigestMismatch)
})

test('a redirect to another host is followed without credentials', NEEDS_REGISTRY, async (t) => {
  const registry = await startRegistry(t)
  const [proxy, store] = [await startRegistryProxy(t, registry.url), await startRegistryProxy(t, registry.url)]
  const layer = await blob(t, SMALL)
  const client = clientOf(proxy.url, { login: { user: 'u', password: new Secret('p') } })
  t.after(client.close)
  store.set((_, __, outgoing) => {
    outgoing.writeHead(200).end(layer.bytes)
    return true
  })
  proxy.set(({ headers }, _, outgoing) => {
    if (headers.authorization) outgoing.writeHead(307, { location: `${store.url}/object?signature=1` }).end()
    else outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    return true
  })
  await client.pullBlob(REPOSITORY, { ...layer, file: `${layer.file}.copy` })
  assert.deepEqual(
    store.seen.map(({ path, headers }) => [path, headers.authorization]),
    [['/object?signature=1', undefined]],
  )
})

test('a redirect to plain HTTP on another machine is refused', async (t) => {
  const proxy = await startRegistryProxy(t, 'http://127.0.0.1:1')
  proxy.set((_, __, outgoing) => {
    outgoing.writeHead(302, { location: 'http://192.0.2.1/blob' }).end()
    return true
  })
  const client = clientOf(proxy.url)
  t.after(client.close)
  const layer = await blob(t, SMALL)
  const pulled = client.pullBlob(REPOSITORY, { ...layer, file: `${layer.file}.copy` })
  await assert.rejects(pulled, /leads to http:\/\/192\.0\.2\.1, which is not HTTPS/)
})

test('an endless redirect is refused', async (t) => {
  const proxy = await startRegistryProxy(t, 'http://127.0.0.1:1')
  proxy.set((_, __, outgoing) => {
    outgoing.writeHead(302, { location: '/again' }).end()
    return true
  })
  const client = clientOf(proxy.url)
  t.after(client.close)
  await assert.rejects(client.pullManifest(REPOSITORY, `sha256:${'0'.repeat(64)}`), /from one address to the next/)
})

test('an answer without end is refused', async (t) => {
  const proxy = await startRegistryProxy(t, 'http://127.0.0.1:1')
  proxy.set((_, __, outgoing) => {
    outgoing.writeHead(200)
    const chunk = Buffer.alloc(1024 * 1024)
    const write = () => outgoing.write(chunk, (error) => error || outgoing.destroyed || write())
    write()
    return true
  })
  const client = clientOf(proxy.url)
  t.after(client.close)
  await assert.rejects(client.pullManifest(REPOSITORY, `sha256:${'0'.repeat(64)}`), /longer answer/)
})
