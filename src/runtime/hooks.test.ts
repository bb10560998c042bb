import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { imageHookVariables, openHooks, variablesFor } from './hooks.ts'

test('the files are there for every user, where the plan asks for them and the app has not switched them off', async (t) => {
  const runFolder = await mkdtemp(join(tmpdir(), 'headland hooks-'))
  t.after(() => rm(runFolder, { recursive: true }))
  const node = process.versions.node
  const umask = process.umask(0o077)
  t.after(() => process.umask(umask))
  for (const variables of [{}, { HEADLAND_NEXT_COHERENCE: 'off' }] as Record<string, string>[])
    assert.deepEqual(await openHooks({ node, variables, runFolder, isIsolating: true }), { mounts: [], options: [] })
  const variables = { HEADLAND_NEXT_COHERENCE: 'on' }
  const from = join(runFolder, 'hooks', 'next')
  assert.deepEqual(await openHooks({ node, variables, runFolder, isIsolating: true }), {
    mounts: [{ from, to: '/headland/hooks/next', isWritable: false }],
    options: ['--require="/headland/hooks/next/coherence.cjs"'],
  })
  for (const name of await readdir(from)) assert.equal((await stat(join(from, name))).mode & 0o777, 0o644)
  assert.equal((await stat(from)).mode & 0o777, 0o755)
})

test('an app on a Node that is older than any framework which a file knows is started without it', async (t) => {
  const runFolder = await mkdtemp(join(tmpdir(), 'headland-hooks-'))
  t.after(() => rm(runFolder, { recursive: true }))
  const given = { variables: { HEADLAND_NEXT_COHERENCE: 'on' }, runFolder, isIsolating: true }
  const counts = await Promise.all(
    ['16.20.2', '18.0.0', '24.21.0'].map(async (node) => (await openHooks({ ...given, node })).options.length),
  )
  assert.deepEqual(counts, [0, 1, 1])
})

test('an app on another machine loads the files of its image, and knows when it was built', () => {
  const expiries = JSON.stringify({ began: 1, ended: 2, everything: 3, tags: {} })
  const variables = { HEADLAND_NEXT_COHERENCE: 'on', NODE_OPTIONS: '--no-warnings' }
  assert.deepEqual(imageHookVariables({ variables, expiries }), {
    NODE_OPTIONS: '--no-warnings --require=/headland/hooks/next/in-image.cjs',
    HEADLAND_NEXT_BUILT: '{"began":1,"ended":2}',
  })
  assert.deepEqual(imageHookVariables({ variables: {}, expiries }), {})
  assert.deepEqual(imageHookVariables({ variables: { HEADLAND_NEXT_COHERENCE: 'off' }, expiries }), {})
})

test('the file that learns what pages are made of comes second, and an image without it is started all the same', async (t) => {
  const runFolder = await mkdtemp(join(tmpdir(), 'headland-hooks-'))
  t.after(() => rm(runFolder, { recursive: true }))
  const variables = { HEADLAND_NEXT_COHERENCE: 'on', HEADLAND_CONTENT_TAGS: 'on' }
  const expiries = async () => '{}'
  const { options } = await openHooks({ node: '24.0.0', variables, runFolder, isIsolating: true, expiries })
  assert.deepEqual(options, [
    '--require="/headland/hooks/next/coherence.cjs"',
    '--require="/headland/hooks/content/content.cjs"',
  ])
  assert.ok((await readdir(join(runFolder, 'hooks', 'next'))).includes('expiries.json'))
  assert.ok(!(await readdir(join(runFolder, 'hooks', 'content'))).includes('expiries.json'))
  const inImage = imageHookVariables({ variables: { HEADLAND_CONTENT_TAGS: 'on' }, expiries: undefined })
  assert.deepEqual(Object.keys(inImage), ['NODE_OPTIONS'])
  const { stdout } = await promisify(execFile)(process.execPath, ['-p', '1'], { env: { ...process.env, ...inImage } })
  assert.equal(stdout, '1\n')
})

test('an app on a version of Node that cannot load a file does not get its variable', () => {
  const variables = { HEADLAND_NEXT_COHERENCE: 'on', HEADLAND_CONTENT_TAGS: 'on', PORT: '1' }
  assert.deepEqual(variablesFor('18.20.8', variables), { HEADLAND_NEXT_COHERENCE: 'on', PORT: '1' })
  assert.deepEqual(variablesFor('20.0.0', variables), variables)
})
