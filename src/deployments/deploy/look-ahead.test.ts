import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Environment } from '../../apps/index.ts'
import type { Inside } from '../../archives/archives.ts'
import type { Archives } from '../../archives/index.ts'
import type { Build } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import { createLookAhead } from './look-ahead.ts'

const BUILD = { archive: { digest: 'sha256:0', bytes: 1, files: 1 } } as unknown as Build

function look(files: Record<string, string>, rootDirectory = ''): Promise<boolean> {
  const inside: Inside = {
    files: Object.keys(files).sort(),
    read: async (path) => files[path],
    head: async (path) => files[path],
  }
  return lookWith((_digest, use) => use(inside), rootDirectory)
}

const lookWith = (open: Archives['look'], rootDirectory = ''): Promise<boolean> =>
  createLookAhead({ archives: { look: open } })({ rootDirectory, accountId: 'a' } as Environment, BUILD)

const json = JSON.stringify

test('plain files need no program, wherever the app lies', async () => {
  assert.equal(await look({ 'index.html': 'hi' }), false)
  assert.equal(await look({ 'index.html': 'hi', 'package.json': json({ devDependencies: { prettier: '3' } }) }), false)
})

test('an app with a build script needs one, also below the top', async () => {
  const app = { 'web/package.json': json({ scripts: { build: 'vite build' } }), 'index.html': 'hi' }
  assert.equal(await look(app, 'web'), true)
  assert.equal(await look(app), false)
})

test('an app that cannot be planned fails at once; one that could not be examined waits for its turn', async () => {
  assert.equal(await look({ 'package.json': 'no JSON' }), false)
  assert.equal(await look({ 'notes.txt': '' }), false)
  const fails = (error: Error) => lookWith(() => Promise.reject(error))
  assert.equal(await fails(new Problem('PLAN_FAILED', 'too much', { metadata: { what: 'time' } })), true)
  assert.equal(await fails(new Error('the disk is gone')), true)
})
