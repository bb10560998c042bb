/** Images in a real registry, without the service: what is sent once, what is fetched, what the collector deletes. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/index.ts'
import { Problem } from '../../src/contract/index.ts'
import { openImages, openRegistryClient, type Prepared } from '../../src/images/index.ts'
import type { Digest } from '../../src/storage/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { NEEDS_REGISTRY, startRegistry } from '../support/images/registry.ts'
import { answering, startRegistryProxy } from '../support/images/registry-proxy.ts'
import { migratedSql } from '../support/sql.ts'

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`
const BASE = { node: '/usr/bin/env', tools: [{ from: '/usr/bin/env', to: '/headland/lib/node/bin/node' }] }
const SETTINGS = { registryUser: '', registryPassword: undefined, registryPlainHttp: false, registryTimeout: 5 }

async function open(t: TestContext) {
  const registry = await startRegistry(t)
  const proxy = await startRegistryProxy(t, registry.url)
  const folder = await temporaryFolder(t)
  const settings = { ...SETTINGS, registry: `${proxy.url}/prefix` }
  const images = openImages({
    sql: await migratedSql(t),
    clock: systemClock,
    settings,
    folder: join(folder, 'images'),
    limits: { files: 1000, bytes: 1024 ** 3 },
    userAgent: 'test',
  })
  t.after(images.close)
  const client = openRegistryClient(settings, 'test')
  t.after(client.close)
  let count = 0

  /** An output of one file. The smallest program stands for Node. */
  async function publish(output: Digest, text: string, app = 'app', prepared: readonly Prepared[] = []) {
    const files = join(folder, `files-${++count}`)
    await mkdir(files)
    await writeFile(join(files, 'index.html'), text)
    const publication = {
      output,
      account: 'acme',
      app,
      base: BASE,
      folders: [{ kind: 'files' as const, folder: files }],
      rules: '{"redirects":[]}',
      config: {
        title: app,
        environment: { PORT: '3000' },
        workingDirectory: '/app',
        command: { singlePage: true, basePath: '/docs' },
        port: 3000,
      },
    }
    return images.publish(publication, {}, prepared)
  }
  const manifestOf = (reference: string): Digest => reference.slice(reference.indexOf('sha256:')) as Digest
  const isThere = (reference: string) => client.hasManifest('prefix/acme/app', manifestOf(reference))
  return { registry, proxy, images, client, folder, publish, manifestOf, isThere }
}

test('an output is pushed once, and fetched as it was', NEEDS_REGISTRY, async (t) => {
  const { images, folder, publish, proxy } = await open(t)
  const first = await publish(digest('a'), 'text')
  assert.equal(first.isKnown, false)
  assert.equal(first.sentLayers, 3)
  const requests = proxy.seen.length
  const second = await publish(digest('a'), 'text')
  assert.deepEqual([second.isKnown, second.reference], [true, first.reference])
  assert.equal(proxy.seen.length, requests + 1)
  const to = (name: string) => join(folder, 'fetched', name)
  await mkdir(join(folder, 'fetched'))
  const wanted = [
    { kind: 'files' as const, folder: to('files') },
    { kind: 'packages' as const, folder: to('packages') },
    { kind: 'rules' as const, folder: to('rules') },
  ]
  await images.fetch(digest('a'), wanted, { user: undefined, time: 0 })
  assert.deepEqual((await readdir(join(folder, 'fetched'))).toSorted(), ['files', 'rules'])
  assert.equal(await readFile(to('files/index.html'), 'utf8'), 'text')
  assert.equal(await readFile(to('rules/rules.json'), 'utf8'), '{"redirects":[]}')
})

test('layers that were pushed early are part of the image, and are not sent again', NEEDS_REGISTRY, async (t) => {
  const { images, publish, proxy, isThere } = await open(t)
  const prepared = await images.prepare({ account: 'acme', app: 'app', base: BASE })
  assert.equal(prepared.sent.length, 1)
  const before = proxy.seen.length
  const { reference, sentLayers, layers } = await publish(digest('a'), 'text', 'app', [prepared])
  assert.deepEqual([sentLayers, layers], [3, 3])
  const uploads = proxy.seen.slice(before).filter(({ method, path }) => method === 'POST' && path.includes('/uploads/'))
  assert.equal(uploads.length, 3, 'files, rules and the configuration')
  assert.ok(await isThere(reference))
})

test('an early push does not wait for a registry that is away', NEEDS_REGISTRY, async (t) => {
  const { images, registry } = await open(t)
  await registry.stop()
  const preparing = images.prepare({ account: 'acme', app: 'app', base: BASE }, { timeoutMs: 0 })
  await assert.rejects(preparing, (error) => error instanceof Problem && error.reason === 'IMAGE_REGISTRY_FAILED')
})

test('the configuration names user, port, command and folder, and no time of a build', NEEDS_REGISTRY, async (t) => {
  const { client, folder, publish, manifestOf } = await open(t)
  const { reference } = await publish(digest('a'), 'text')
  const manifest = await client.pullManifest('prefix/acme/app', manifestOf(reference))
  const { config } = JSON.parse(String(manifest))
  const file = join(folder, 'config')
  await client.pullBlob('prefix/acme/app', { ...config, file })
  const read = JSON.parse(await readFile(file, 'utf8'))
  assert.deepEqual(read.config, {
    User: '10001:10001',
    ExposedPorts: { '3000/tcp': {} },
    Env: ['PORT=3000'],
    Cmd: ['node', '/headland/serve.mjs', '/app', '--single-page', '--base=/docs'],
    WorkingDir: '/app',
    Labels: {
      'org.opencontainers.image.title': 'app',
      'org.opencontainers.image.description': 'The output of a build, with what it runs on.',
      'org.opencontainers.image.vendor': 'Headland',
    },
  })
  assert.equal(read.created, '1980-01-01T00:00:00.000Z')
})

test('an image that was deleted in the registry is pushed again', NEEDS_REGISTRY, async (t) => {
  const { client, publish, manifestOf, isThere } = await open(t)
  const { reference } = await publish(digest('a'), 'text')
  await client.deleteManifest('prefix/acme/app', manifestOf(reference))
  assert.equal((await publish(digest('a'), 'text')).isKnown, false)
  assert.equal(await isThere(reference), true)
})

test('the collector deletes the images of outputs that are gone, and no other', NEEDS_REGISTRY, async (t) => {
  const { images, publish, isThere } = await open(t)
  const [gone, kept] = [await publish(digest('a'), 'gone'), await publish(digest('b'), 'kept')]
  assert.equal(await images.collect(async (output) => output === digest('b')), 1)
  assert.deepEqual([await isThere(gone.reference), await isThere(kept.reference)], [false, true])
  assert.deepEqual([...(await images.referencesOf([digest('a'), digest('b')])).keys()], [digest('b')])
})

test('an image that two outputs share is deleted with the last of them', NEEDS_REGISTRY, async (t) => {
  const { images, publish, isThere } = await open(t)
  const [one, two] = [await publish(digest('a'), 'same'), await publish(digest('b'), 'same')]
  assert.equal(one.reference, two.reference)
  await images.collect(async (output) => output === digest('b'))
  assert.equal(await isThere(one.reference), true)
  await images.collect(async () => false)
  assert.equal(await isThere(one.reference), false)
})

test('an image that could not be deleted is deleted by the next collection', NEEDS_REGISTRY, async (t) => {
  const { images, proxy, publish, isThere } = await open(t)
  const { reference } = await publish(digest('a'), 'text')
  proxy.set(answering(9, ({ method }) => method === 'DELETE', 503))
  await assert.rejects(
    images.collect(async () => false),
    /answered 503/,
  )
  proxy.set(() => false)
  assert.equal(await images.collect(async () => false), 1)
  assert.equal(await isThere(reference), false)
})

test(
  'the layer of another app is taken from its repository, and sent again where that is refused',
  NEEDS_REGISTRY,
  async (t) => {
    const { proxy, publish } = await open(t)
    await publish(digest('a'), 'one')
    assert.equal((await publish(digest('b'), 'two', 'second')).sentLayers, 2)
    proxy.set(answering(1, ({ path }) => path.includes('mount='), 404))
    assert.equal((await publish(digest('c'), 'three', 'third')).sentLayers, 3)
  },
)

test('an image with other bytes than its digests is not unpacked', NEEDS_REGISTRY, async (t) => {
  const { images, proxy, folder, publish } = await open(t)
  await publish(digest('a'), 'text')
  proxy.set(({ path }, _, outgoing) => {
    if (!path.includes('/blobs/')) return false
    outgoing.writeHead(200).end('something else'.repeat(10_000))
    return true
  })
  const wanted = [{ kind: 'files' as const, folder: join(folder, 'fetched') }]
  await assert.rejects(images.fetch(digest('a'), wanted, { user: undefined, time: 0 }), (error) => {
    assert.ok(error instanceof Problem)
    assert.equal(error.reason, 'IMAGE_REGISTRY_FAILED')
    return /other bytes than/.test(error.message)
  })
  await assert.rejects(readdir(join(folder, 'fetched')), { code: 'ENOENT' })
  assert.deepEqual(await readdir(join(folder, 'images')), [])
})
