/** Static sites from a real registry, as a machine without a database gets them. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog, systemClock } from '../../src/base/index.ts'
import { createOutputs } from '../../src/builds/index.ts'
import { lookUpOnce } from '../../src/edge/index.ts'
import { openImages, openRegistryClient, openSiteImages } from '../../src/images/index.ts'
import { type Content, folderEntry, textEntry } from '../../src/images/layers/folder.ts'
import { packLayer } from '../../src/images/layers/pack.ts'
import { configOf, manifestOf } from '../../src/images/manifest.ts'
import { digestOf } from '../../src/images/registry/answers.ts'
import { createSiteStore } from '../../src/static-files/index.ts'
import type { Digest } from '../../src/storage/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { NEEDS_REGISTRY, startRegistry } from '../support/images/registry.ts'
import { migratedSql } from '../support/sql.ts'

const OUTPUT: Digest = `sha256:${'a'.repeat(64)}`
const BASE = { node: '/usr/bin/env', tools: [{ from: '/usr/bin/env', to: '/headland/lib/node/bin/node' }] }
const LIMITS = { files: 100, bytes: 1024 ** 2 }
const CONFIG = { title: 'app', environment: {}, workingDirectory: '/app', port: 3000 }
const SERVED = ['node', '/headland/serve.mjs', '/app']

async function open(t: TestContext) {
  const registry = await startRegistry(t)
  const folder = await temporaryFolder(t)
  const settings = {
    ...{ registryUser: '', registryPassword: undefined, registryPlainHttp: false, registryTimeout: 5 },
    registry: `${registry.url}/prefix`,
  }
  const client = openRegistryClient(settings, 'test')
  t.after(client.close)
  const scratch = join(folder, 'scratch')
  const sites = openSiteImages({ clock: systemClock, settings, folder: scratch, limits: LIMITS, userAgent: 'test' })
  t.after(sites.close)
  const outputs = createOutputs({ folder: join(folder, 'outputs'), limits: LIMITS })
  const log = createLog('silent')
  const store = createSiteStore({ clock: systemClock, log, outputs, images: sites, maxBytes: 1e9 })

  /** Pushes an image with this layer of files, by hand. */
  async function push(contents: Content[], command = SERVED): Promise<string> {
    async function* all() {
      yield* contents
    }
    const repository = 'prefix/acme/app'
    const file = join(folder, `layer-${Math.random()}`)
    const layer = { ...(await packLayer(all(), file)), kind: 'files' as const }
    await client.pushBlob(repository, { ...layer, file })
    const config = configOf({ ...CONFIG, command }, [layer])
    const blob = { digest: digestOf(config), size: config.byteLength, file: `${file}.config` }
    await writeFile(blob.file, config)
    await client.pushBlob(repository, blob)
    const manifest = await client.pushManifest(repository, manifestOf(blob, [layer]), [])
    return `another.name:5000/${repository}@${manifest}`
  }
  const left = async () => [
    ...(await readdir(join(folder, 'outputs')).catch(() => [])),
    ...(await readdir(scratch).catch(() => [])),
  ]
  return { folder, settings, sites, store, push, left }
}

test('a site is pulled with how it is served and with its rules', NEEDS_REGISTRY, async (t) => {
  const { folder, settings, sites, store } = await open(t)
  const images = openImages({
    ...{ sql: await migratedSql(t), clock: systemClock, settings, limits: LIMITS, userAgent: 'test' },
    folder: join(folder, 'images'),
  })
  t.after(images.close)
  const files = join(folder, 'files')
  await mkdir(files)
  await writeFile(join(files, 'index.html'), 'hello')
  const { reference } = await images.publish({
    ...{ output: OUTPUT, account: 'acme', app: 'app', base: BASE, folders: [{ kind: 'files', folder: files }] },
    rules: '{"redirects":[],"headers":[]}',
    config: { ...CONFIG, command: { singlePage: true, basePath: '/docs' } },
  })
  const { bytes, ...site } = await sites.pull(reference, join(folder, 'pulled'))
  assert.deepEqual(site, { singlePage: true, basePath: '/docs', rules: '{"redirects":[],"headers":[]}' })
  assert.ok(bytes > 0)
  assert.equal(await readFile(join(folder, 'pulled', 'index.html'), 'utf8'), 'hello')
  const stored = await store.ensure({ digest: OUTPUT, image: reference })
  assert.ok((await stat(stored.manifest)).isFile())
})

const link = (path: string, to: string): Content => ({
  entry: { path, kind: 'symlink', mode: 0o777, owner: 0, size: 0, to },
})
const APP = folderEntry('app')

const HOSTILE: Record<string, Content[]> = {
  'a name that leads up': [APP, textEntry('app/../../evil', 'x')],
  'a file behind a link': [APP, link('app/out', '/tmp'), textEntry('app/out/evil', 'x')],
  'a file outside of the site': [APP, textEntry('etc/evil', 'x')],
  'more bytes than allowed': [APP, textEntry('app/large', 'x'.repeat(LIMITS.bytes + 1))],
}
for (const [what, contents] of Object.entries(HOSTILE))
  test(`a layer with ${what} is refused, and leaves nothing`, NEEDS_REGISTRY, async (t) => {
    const { store, push, left } = await open(t)
    const image = await push(contents)
    await assert.rejects(store.ensure({ digest: OUTPUT, image }), { name: 'LayerBroken' })
    assert.deepEqual(await left(), [])
  })

test('a link in a layer is not followed: what it leads to is not in the list of files', NEEDS_REGISTRY, async (t) => {
  const { store, push } = await open(t)
  const image = await push([APP, textEntry('app/index.html', 'x'), link('app/secret.txt', '/etc/passwd')])
  const { manifest } = await store.ensure({ digest: OUTPUT, image })
  const kindOf = async (path: string) => (await lookUpOnce(manifest, { path, query: '' })).kind
  assert.deepEqual([await kindOf('/'), await kindOf('/secret.txt')], ['file', 'missing'])
})

test('the image of an app that has a server is not served as files', NEEDS_REGISTRY, async (t) => {
  const { store, push } = await open(t)
  const image = await push([APP, textEntry('app/server.js', 'x')], ['node', 'server.js'])
  await assert.rejects(store.ensure({ digest: OUTPUT, image }), /not that of a static site/)
})
