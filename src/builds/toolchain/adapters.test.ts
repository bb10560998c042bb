import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { fakeRegistry } from '../../../test/support/machine/registry.ts'
import { Problem } from '../../contract/index.ts'
import { createAdapters, newestFor } from './adapters.ts'
import { NpmError } from './registry.ts'
import { createToolStore } from './store.ts'

const NAME = '@sveltejs/adapter-node'
const KIT = '@sveltejs/kit'
const PEERS: Record<string, Record<string, string>> = {
  '0.0.7': {},
  '1.3.1': { [KIT]: '^1.0.0' },
  '5.4.0': { [KIT]: '^2.4.0' },
  '5.5.7': { [KIT]: '^2.31.0' },
  '6.0.0-next.1': { [KIT]: '^2.0.0' },
  '6.0.1': { [KIT]: '^3.0.0-next.0' },
}

const wanted = (peerVersion: string) => ({ package: NAME, peer: KIT, peerVersion })

async function adaptersIn(t: TestContext) {
  const [folder, clock] = [await temporaryFolder(t), handClock()]
  const registry = fakeRegistry({ [NAME]: { versions: Object.keys(PEERS), peers: PEERS } })
  const open = () =>
    createAdapters({ store: createToolStore({ folder, arch: 'arm64', registry, clock }), registry, clock })
  return { registry, clock, open, adapters: open() }
}

for (const [installed, version] of [
  ['1.30.4', '1.3.1'],
  ['2.4.0', '5.4.0'],
  ['2.70.3', '5.5.7'],
  ['3.1.1', '6.0.1'],
  ['3.0.0-next.9', '6.0.1'],
  ['4.0.0', undefined],
] as const) {
  test(`for SvelteKit ${installed} the newest adapter that fits is ${version ?? 'none'}`, () => {
    const published = Object.entries(PEERS).map(([version, peers]) => ({ version, peers }))
    assert.equal(newestFor(wanted(installed), published), version)
  })
}

test('a version whose peers are no ranges, or too long to be read, is left out', () => {
  const odd = [{ [KIT]: 7 }, { [KIT]: 'not a range' }, { [KIT]: `${'^2.0.0 || '.repeat(5000)}^2.0.0` }]
  const published = odd.map((peers, index) => ({ version: `9.0.${index}`, peers }))
  assert.equal(newestFor(wanted('2.70.3'), published), undefined)
})

test('an adapter is fetched once, and the next build does not ask the registry', async (t) => {
  const { registry, open, adapters } = await adaptersIn(t)
  const fetched: string[] = []
  const taken = await adapters.take(wanted('2.70.3'), { isFresh: false, onFetch: (what) => fetched.push(what) })
  assert.equal(taken?.version, '5.5.7')
  assert.deepEqual(fetched, [`${NAME} 5.5.7`])
  const manifest = await readFile(join(taken.folder, 'node_modules', NAME, 'package.json'), 'utf8')
  assert.equal(JSON.parse(manifest).version, '5.5.7')
  assert.deepEqual(await open().take(wanted('2.70.3'), { isFresh: false, onFetch: assert.fail }), taken)
  assert.deepEqual([registry.asked, registry.fetched], [[NAME], [`${NAME}@5.5.7`]])
})

test('a clean build asks for a newer one, and takes what is here where the registry is silent', async (t) => {
  const { registry, open, adapters } = await adaptersIn(t)
  await adapters.take(wanted('2.5.0'), { isFresh: false })
  assert.equal((await open().take(wanted('2.70.3'), { isFresh: false }))?.version, '5.4.0')
  assert.equal((await open().take(wanted('2.70.3'), { isFresh: true }))?.version, '5.5.7')
  registry.fault = new NpmError('ENOTFOUND', 'no such host')
  assert.equal((await open().take(wanted('2.70.3'), { isFresh: true }))?.version, '5.5.7')
})

test('a registry that does not answer is a fault of the service, unlike one without a version that fits', async (t) => {
  const { registry, open, adapters } = await adaptersIn(t)
  assert.equal(await adapters.take(wanted('4.0.0'), { isFresh: false }), undefined)
  registry.fault = new NpmError('ENOTFOUND', 'no such host')
  await assert.rejects(
    open().take(wanted('2.70.3'), { isFresh: false }),
    (error) => error instanceof Problem && error.reason === 'TOOL_NOT_AVAILABLE' && error.message.includes(NAME),
  )
})
