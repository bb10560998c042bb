import assert from 'node:assert/strict'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import type { Tool } from './exact.ts'
import { describe, isNodeScript, isProgram, placeNativePnpm } from './package.ts'

async function commandsOf(t: TestContext, name: Tool['name'], manifest: object) {
  const root = await temporaryFolder(t)
  await writeFile(join(root, 'package.json'), JSON.stringify({ version: '1.0.0', ...manifest }))
  return (await describe(root, name)).commands
}

test('commands are those that the package names', async (t) => {
  const bin = { yarn: './bin/yarn.js', yarnpkg: './bin/yarn.js' }
  assert.deepEqual(await commandsOf(t, 'yarn', { bin }), { yarn: 'bin/yarn.js', yarnpkg: 'bin/yarn.js' })
})

test('a single command has the name of its package', async (t) => {
  assert.deepEqual(await commandsOf(t, 'pnpm', { bin: 'bin/pnpm.cjs' }), { pnpm: 'bin/pnpm.cjs' })
})

test('Bun and Node are known without being named', async (t) => {
  assert.deepEqual(await commandsOf(t, 'bun', {}), { bun: 'bin/bun', bunx: 'bin/bun' })
  assert.deepEqual(await commandsOf(t, 'node', { bin: {} }), { node: 'bin/node' })
})

test('a command that leads out of its package, or is not a plain name, is none', async (t) => {
  const bin = { a: '../../secret', b: '/bin/sh', 'c/d': 'bin/c', e: "bin/it's", f: 'bin/f' }
  assert.deepEqual(await commandsOf(t, 'pnpm', { bin }), { f: 'bin/f' })
})

test('which Node a tool needs is what its engines say, and any when they say nothing', async (t) => {
  const root = await temporaryFolder(t)
  await writeFile(join(root, 'package.json'), JSON.stringify({ version: '11.0.0', engines: { node: '>=22.13' } }))
  assert.equal((await describe(root, 'pnpm')).node, '>=22.13')
  await writeFile(join(root, 'package.json'), '{"version":"1.0.0"}')
  assert.equal((await describe(root, 'pnpm')).node, '*')
})

test('a version is read with and without the letter that older packages of Node put before it', async (t) => {
  const root = await temporaryFolder(t)
  for (const version of ['18.20.8', 'v18.20.8']) {
    await writeFile(join(root, 'package.json'), JSON.stringify({ version }))
    assert.equal((await describe(root, 'node')).version, '18.20.8')
  }
})

async function fileWith(t: TestContext, text: string) {
  const file = join(await temporaryFolder(t), 'file')
  await writeFile(file, text)
  return file
}

test('the kernel can run what names its interpreter, and binaries', async (t) => {
  assert.equal(await isProgram(await fileWith(t, '#!/bin/sh\n')), true)
  assert.equal(await isProgram(process.execPath), true)
  assert.equal(await isProgram(await fileWith(t, 'exec node pnpm.mjs\n')), false)
  assert.equal(await isProgram(await fileWith(t, '')), false)
  assert.equal(await isProgram('/no/such/file'), false)
})

test('a script for Node is recognised', async (t) => {
  assert.equal(await isNodeScript(await fileWith(t, '#!/usr/bin/env node\n')), true)
  assert.equal(await isNodeScript(await fileWith(t, '#!/usr/bin/env -S node --no-warnings\n')), true)
  assert.equal(await isNodeScript(await fileWith(t, '#!/usr/bin/node\n')), true)
  assert.equal(await isNodeScript(await fileWith(t, '#!/bin/sh\n# node\n')), false)
  assert.equal(await isNodeScript(process.execPath), false)
})

test('a pnpm that is a program of its own takes the place of the scripts that would fetch it', async (t) => {
  const modules = await temporaryFolder(t)
  const native = '@pnpm/exe.linux-arm64'
  const manifest = {
    version: '12.0.0',
    bin: { pnpm: 'pnpm', pnpx: 'pnpx' },
    optionalDependencies: { [native]: '12.0.0' },
  }
  for (const folder of ['pnpm', native]) await mkdir(join(modules, folder), { recursive: true })
  await writeFile(join(modules, 'pnpm/package.json'), JSON.stringify(manifest))
  for (const name of ['pnpm', 'pnpx']) await writeFile(join(modules, 'pnpm', name), 'exec node pnpm.mjs\n')
  await copyFile('/bin/true', join(modules, native, 'pnpm'))
  await placeNativePnpm(modules, 'arm64')
  for (const name of ['pnpm', 'pnpx']) {
    assert.deepEqual(await readFile(join(modules, 'pnpm', name)), await readFile('/bin/true'))
  }
})

test('a pnpm that is a script stays as it is', async (t) => {
  const modules = await temporaryFolder(t)
  await mkdir(join(modules, 'pnpm'))
  await writeFile(join(modules, 'pnpm/package.json'), '{"version":"10.0.0","bin":{"pnpm":"pnpm.cjs"}}')
  await writeFile(join(modules, 'pnpm/pnpm.cjs'), '#!/usr/bin/env node\n')
  await placeNativePnpm(modules, 'arm64')
  assert.equal(await readFile(join(modules, 'pnpm/pnpm.cjs'), 'utf8'), '#!/usr/bin/env node\n')
})
