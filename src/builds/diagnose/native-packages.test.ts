import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nativePackagesMissing, type Platform, parsePackageLock } from './native-packages.ts'

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

function missing(packages: object, there: readonly string[], platform = ARM): string[] {
  const lock = parsePackageLock(JSON.stringify({ name: 'shop', lockfileVersion: 3, packages }))
  return nativePackagesMissing(lock, platform, (path) => there.includes(path))
}

test('nothing is missing where the package for this platform is installed', () => {
  assert.deepEqual(missing(WHOLE, ['node_modules/rollup', 'node_modules/@rollup/rollup-linux-arm64-gnu']), [])
})

test('a package for this platform that the lockfile has and the folder has not is named', () => {
  assert.deepEqual(missing(WHOLE, ['node_modules/rollup']), ['@rollup/rollup-linux-arm64-gnu'])
})

test('on another C library another package is missing', () => {
  const musl: Platform = { ...ARM, libc: 'musl' }
  assert.deepEqual(missing(WHOLE, ['node_modules/rollup'], musl), ['@rollup/rollup-linux-arm64-musl'])
})

test('a lockfile that was made on a Mac and lacks all of Linux is seen by the names that its packages ask for', () => {
  const { '': app, 'node_modules/rollup': rollup, 'node_modules/@rollup/rollup-darwin-arm64': mac } = WHOLE
  const packages = { '': app, 'node_modules/rollup': rollup, 'node_modules/@rollup/rollup-darwin-arm64': mac }
  assert.deepEqual(missing(packages, ['node_modules/rollup']), ['@rollup/rollup-linux-arm64-gnu'])
})

test('what a package asks for that is not installed itself is not missed', () => {
  assert.deepEqual(missing(WHOLE, []), [])
})

test('a package is found beside whoever asks for it, and further up', () => {
  const packages = {
    'node_modules/a': {},
    'node_modules/a/node_modules/sharp': { optionalDependencies: { '@img/sharp-linux-arm64': '1' } },
    'node_modules/@img/sharp-linux-arm64': native('linux', 'arm64', 'glibc'),
  }
  const there = ['node_modules/a', 'node_modules/a/node_modules/sharp', 'node_modules/@img/sharp-linux-arm64']
  assert.deepEqual(missing(packages, there), [])
  assert.deepEqual(missing(packages, there.slice(0, 2)), ['@img/sharp-linux-arm64'])
})

test('what the app or a workspace of it asks for is missed too', () => {
  const packages = {
    'packages/web': { optionalDependencies: { 'lightningcss-linux-arm64-gnu': '1.30.0' } },
    'node_modules/lightningcss-linux-arm64-gnu': native('linux', 'arm64', 'glibc'),
  }
  assert.deepEqual(missing(packages, []), ['lightningcss-linux-arm64-gnu'])
})

test('the names that projects give to platforms are understood', () => {
  const names = ['@img/sharp-linuxmusl-arm64', '@esbuild/linux-arm64', 'bun-linux-aarch64', 'x-linux-arm-gnueabihf']
  const packages = { '': { optionalDependencies: Object.fromEntries(names.map((name) => [name, '1'])) } }
  assert.deepEqual(missing(packages, []), ['@esbuild/linux-arm64', 'bun-linux-aarch64'])
})

test('an optional package that is not native may be absent', () => {
  const packages = {
    '': { optionalDependencies: { 'left-pad': '1.3.0', unknown: '1' } },
    'node_modules/left-pad': { optional: true },
  }
  assert.deepEqual(missing(packages, []), [])
})

test('a package for all systems but one is for this one', () => {
  const packages = {
    '': { optionalDependencies: { quick: '1' } },
    'node_modules/quick': { optional: true, os: ['!win32'], cpu: ['arm64', 'x64'] },
  }
  assert.deepEqual(missing(packages, []), ['quick'])
  assert.deepEqual(missing(packages, [], { ...ARM, os: 'win32' }), [])
})

const NO_LOCKFILES = [
  '',
  'null',
  '[]',
  '{"lockfileVersion":1,"dependencies":{}}',
  '{"packages":{"":null,"a":{"os":7}}}',
]

for (const text of NO_LOCKFILES) {
  test(`nothing is missing by a lockfile that says nothing: ${text || '(empty)'}`, () => {
    assert.deepEqual(
      nativePackagesMissing(parsePackageLock(text), ARM, () => false),
      [],
    )
  })
}
