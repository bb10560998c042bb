import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingOf, nativesIn, type Platform, packagesIn } from './native-packages.ts'

const ARM: Platform = { os: 'linux', cpu: 'arm64', libc: 'glibc' }

const native = (os: string, cpu: string, libc?: string) => ({
  version: '4.1.0',
  optional: true,
  os: [os],
  cpu: [cpu],
  ...(libc && { libc: [libc] }),
})

const ROLLUP = {
  version: '4.1.0',
  dev: true,
  optionalDependencies: {
    '@rollup/rollup-darwin-arm64': '4.1.0',
    '@rollup/rollup-linux-arm64-gnu': '4.1.0',
    '@rollup/rollup-linux-arm64-musl': '4.1.0',
    '@rollup/rollup-linux-x64-gnu': '4.1.0',
    fsevents: '~2.3.2',
  },
}

const WHOLE = {
  '': { name: 'shop', devDependencies: { rollup: '4.1.0' } },
  'node_modules/rollup': ROLLUP,
  'node_modules/@rollup/rollup-darwin-arm64': native('darwin', 'arm64'),
  'node_modules/@rollup/rollup-linux-arm64-gnu': native('linux', 'arm64', 'glibc'),
  'node_modules/@rollup/rollup-linux-arm64-musl': native('linux', 'arm64', 'musl'),
  'node_modules/@rollup/rollup-linux-x64-gnu': native('linux', 'x64', 'glibc'),
  'node_modules/fsevents': { version: '2.3.3', optional: true, os: ['darwin'] },
}

async function missing(packages: object, there: readonly string[], platform = ARM): Promise<string[]> {
  const lock = packagesIn(JSON.parse(JSON.stringify({ name: 'shop', lockfileVersion: 3, packages })))
  const found = await missingOf(nativesIn(lock, platform), async (path) => there.includes(path))
  return found.map(({ name }) => name)
}

test('nothing is missing where the package for this platform is installed', async () => {
  assert.deepEqual(await missing(WHOLE, ['node_modules/rollup', 'node_modules/@rollup/rollup-linux-arm64-gnu']), [])
})

test('a package for this platform that the lockfile has and the folder has not is named', async () => {
  assert.deepEqual(await missing(WHOLE, ['node_modules/rollup']), ['@rollup/rollup-linux-arm64-gnu'])
})

test('on another C library another package is missing', async () => {
  const musl: Platform = { ...ARM, libc: 'musl' }
  assert.deepEqual(await missing(WHOLE, ['node_modules/rollup'], musl), ['@rollup/rollup-linux-arm64-musl'])
})

test('a lockfile that was made on a Mac and lacks all of Linux is seen by the names that its packages ask for', async () => {
  const { '': app, 'node_modules/rollup': rollup, 'node_modules/@rollup/rollup-darwin-arm64': mac } = WHOLE
  const packages = { '': app, 'node_modules/rollup': rollup, 'node_modules/@rollup/rollup-darwin-arm64': mac }
  assert.deepEqual(await missing(packages, ['node_modules/rollup']), ['@rollup/rollup-linux-arm64-gnu'])
})

test('what a package asks for that is not installed itself is not missed', async () => {
  assert.deepEqual(await missing(WHOLE, []), [])
})

test('a package is found beside the package that requires it, and further up', async () => {
  const packages = {
    'node_modules/a': {},
    'node_modules/a/node_modules/sharp': { optionalDependencies: { '@img/sharp-linux-arm64': '1' } },
    'node_modules/@img/sharp-linux-arm64': native('linux', 'arm64', 'glibc'),
  }
  const there = ['node_modules/a', 'node_modules/a/node_modules/sharp', 'node_modules/@img/sharp-linux-arm64']
  assert.deepEqual(await missing(packages, there), [])
  assert.deepEqual(await missing(packages, there.slice(0, 2)), ['@img/sharp-linux-arm64'])
})

test('what the app or a workspace of it asks for is missed too', async () => {
  const packages = {
    'packages/web': { optionalDependencies: { 'lightningcss-linux-arm64-gnu': '1.30.0' } },
    'node_modules/lightningcss-linux-arm64-gnu': native('linux', 'arm64', 'glibc'),
  }
  assert.deepEqual(await missing(packages, []), ['lightningcss-linux-arm64-gnu'])
})

test('the names that projects give to platforms are understood', async () => {
  const names = ['@img/sharp-linuxmusl-arm64', '@esbuild/linux-arm64', 'bun-linux-aarch64', 'x-linux-arm-gnueabihf']
  const packages = { '': { optionalDependencies: Object.fromEntries(names.map((name) => [name, '1'])) } }
  assert.deepEqual(await missing(packages, []), ['@esbuild/linux-arm64', 'bun-linux-aarch64'])
})

test('an optional package that is not native may be absent', async () => {
  const packages = {
    '': { optionalDependencies: { 'left-pad': '1.3.0', unknown: '1' } },
    'node_modules/left-pad': { optional: true },
  }
  assert.deepEqual(await missing(packages, []), [])
})

test('a package for all systems but one is for this one', async () => {
  const packages = {
    '': { optionalDependencies: { quick: '1' } },
    'node_modules/quick': { optional: true, os: ['!win32'], cpu: ['arm64', 'x64'] },
  }
  assert.deepEqual(await missing(packages, []), ['quick'])
  assert.deepEqual(await missing(packages, [], { ...ARM, os: 'win32' }), [])
})

test('no place outside is looked for, whatever a lockfile says', async () => {
  const entry = { optionalDependencies: { '../../../etc/shadow-linux-arm64': '1', 'a-linux-arm64': '1' } }
  const packages = {
    '../../../etc/node_modules/passwd': entry,
    'node_modules/../../../../etc/shadow': entry,
    'node_modules//a': entry,
    '/node_modules/b': entry,
    'packages/../../x': entry,
    'packages/../../node_modules/a-linux-arm64': native('linux', 'arm64'),
    [`node_modules/${'x/'.repeat(5000)}y`]: entry,
  }
  const looked: string[] = []
  const lock = packagesIn({ packages })
  await missingOf(nativesIn(lock, ARM), async (folder) => {
    looked.push(folder)
    return true
  })
  assert.deepEqual(looked, [])
})

test('a missing package has the package that requires it, with its version, and whether the lockfile has it', async () => {
  const { 'node_modules/@rollup/rollup-linux-arm64-gnu': _, ...lacking } = WHOLE
  const notify = (packages: object) =>
    missingOf(nativesIn(packagesIn({ packages }), ARM), async (path) => path === 'node_modules/rollup')
  const name = '@rollup/rollup-linux-arm64-gnu'
  const parent = { name: 'rollup', version: '4.1.0' }
  assert.deepEqual(await notify(WHOLE), [{ name, parent, isLocked: true }])
  assert.deepEqual(await notify(lacking), [{ name, parent, isLocked: false }])
})

test('an invalid version is ignored', async () => {
  for (const version of [undefined, 4, {}, 'git+ssh://x', `1.${'0'.repeat(100)}`, '1.0.0 <script>']) {
    const packages = { ...WHOLE, 'node_modules/rollup': { ...ROLLUP, version } }
    const [found] = await missingOf(
      nativesIn(packagesIn({ packages }), ARM),
      async (at) => at === 'node_modules/rollup',
    )
    assert.equal(found?.parent, null)
  }
})
