import assert from 'node:assert/strict'
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import { NpmError, npmEnvironment, npmRegistry } from './registry.ts'

/** An npm that is a script for a shell. */
async function npmThat(t: TestContext, script: string) {
  const folder = await temporaryFolder(t)
  const program = join(folder, 'npm')
  await writeFile(program, `#!/bin/sh\n${script}\n`)
  await chmod(program, 0o755)
  let number = 0
  const environment = { PATH: '/usr/bin:/bin', HOME: folder, npm_config_registry: 'http://localhost:1', SECRET: 'x' }
  const registry = npmRegistry({ program, environment, scratch: () => join(folder, `scratch-${number++}`) })
  return { folder, registry, signal: new AbortController().signal }
}

test('versions are what npm says', async (t) => {
  const { registry, signal } = await npmThat(t, `echo '["1.0.0", "1.1.0"]'`)
  assert.deepEqual(await registry.versions('pnpm', signal), ['1.0.0', '1.1.0'])
})

test('a package with a single version has a list, too', async (t) => {
  const { registry, signal } = await npmThat(t, `echo '"1.0.0"'`)
  assert.deepEqual(await registry.versions('pnpm', signal), ['1.0.0'])
})

test('peer dependencies are listed for each version, of many and of one', async (t) => {
  const several = [
    { name: 'a', version: '1.0.0', peerDependencies: { b: '^1' } },
    { name: 'a', version: '0.9.0' },
    'odd',
  ]
  const { registry, signal } = await npmThat(t, `echo '${JSON.stringify(several)}'`)
  assert.deepEqual(await registry.published('a', signal), [
    { version: '1.0.0', peers: { b: '^1' } },
    { version: '0.9.0', peers: {} },
  ])
  const one = await npmThat(t, `echo '${JSON.stringify(several[0])}'`)
  assert.deepEqual(await one.registry.published('a', signal), [{ version: '1.0.0', peers: { b: '^1' } }])
  const none = await npmThat(t, 'true')
  assert.deepEqual(await none.registry.published('a', signal), [])
})

test('npm runs no scripts and leaves nothing behind', async (t) => {
  const { folder, registry, signal } = await npmThat(t, `echo "$@" > "$HOME/arguments"`)
  await registry.fetch('pnpm', '10.0.0', join(folder, 'draft'), signal)
  const given = await readFile(join(folder, 'arguments'), 'utf8')
  assert.match(given, /^install pnpm@10\.0\.0 --ignore-scripts .*--cache \S+\/scratch-0/)
  assert.deepEqual(await readdir(folder), ['arguments', 'draft', 'npm'])
})

test('what npm says when it fails is kept with its code', async (t) => {
  const { registry, signal } = await npmThat(t, `echo '{"error":{"code":"E404"}}'; echo 'npm error 404' >&2; exit 1`)
  await assert.rejects(
    registry.versions('pnpm', signal),
    (error) => error instanceof NpmError && error.code === 'E404' && /npm error 404/.test(error.message),
  )
})

test('an npm that is not wanted any more is killed with everything it started', async (t) => {
  const { folder, registry } = await npmThat(t, `sleep 1000 & echo $! > "$HOME/pid"; wait`)
  const leaving = new AbortController()
  const asked = registry.versions('pnpm', leaving.signal)
  const file = join(folder, 'pid')
  const pidOf = () => readFile(file, 'utf8').then(Number, () => 0)
  await until(pidOf)
  leaving.abort(new Error('cancelled'))
  await assert.rejects(asked, /cancelled/)
  const isAlive = async () =>
    !/^State:\tZ/m.test(await readFile(`/proc/${await pidOf()}/status`, 'utf8').catch(() => 'State:\tZ'))
  await until(async () => !(await isAlive()))
})

test('npm is given what is meant for it, and no secret of the service', () => {
  const given = npmEnvironment({
    PATH: '/bin',
    HOME: '/root',
    npm_config_registry: 'http://localhost',
    NPM_CONFIG_CAFILE: '/ca.pem',
    HTTPS_PROXY: 'http://proxy',
    no_proxy: 'localhost',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    HEADLAND_MASTER_KEY: 'secret',
    AWS_SECRET_ACCESS_KEY: 'secret',
    LD_PRELOAD: '/evil.so',
    TMPDIR: undefined,
  })
  assert.deepEqual(Object.keys(given).sort(), [
    'HOME',
    'HTTPS_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'NPM_CONFIG_CAFILE',
    'PATH',
    'no_proxy',
    'npm_config_registry',
  ])
})

test('npm finds a node, even where the service has the only one', () => {
  assert.ok(npmEnvironment({ PATH: '/bin' }).PATH?.startsWith('/bin:/'))
})
