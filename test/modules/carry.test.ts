/**
 * Files that an app has written are copied to the next deployment of the same build: in a real sandbox, as the app's
 * own user.
 */
import assert from 'node:assert/strict'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { removeTree } from '../../src/base/index.ts'
import type { Engine } from '../../src/engines/index.ts'
import { carryOn } from '../../src/runtime/carry.ts'
import type { InstanceSpec } from '../../src/runtime/instance.ts'
import { LIMITS, testSandbox } from '../support/machine/engine.ts'

const skip = process.getuid?.() === 0 ? false : 'changing the owners of files needs root'
const USER = { uid: 210_042, gid: 210_042 }
const engine = await testSandbox()
const signal = new AbortController().signal

async function open(t: TestContext, more: Partial<InstanceSpec> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'headland-carry-'))
  t.after(() => removeTree(folder))
  // As strict as a data folder: the app's user cannot traverse it.
  await chmod(folder, 0o700)
  const [from, runFolder] = [join(folder, 'old'), join(folder, 'new')]
  const spec = { writable: ['.next/cache', '.next/server/app'], user: USER, limits: LIMITS, runFolder, ...more }
  const write = async (path: string, text: string, run = from) => {
    const [top] = spec.writable.filter((each) => path.startsWith(`${each}/`))
    await mkdir(join(run, 'own', String(top)), { recursive: true })
    await writeFile(join(run, 'own', path), text)
    for (const each of [String(top), path]) await chown(join(run, 'own', each), USER.uid, USER.gid)
  }
  const carry = (by: Engine = engine) => carryOn(by, from, spec as InstanceSpec, signal)
  return { folder, from, runFolder, write, carry, own: (path: string) => join(runFolder, 'own', path) }
}

test('files are carried on with their times and their owner, in place of what was there', { skip }, async (t) => {
  const { from, write, carry, own, runFolder } = await open(t)
  await write('.next/server/app/one.html', 'new')
  const time = new Date(Date.now() - 1_000_000)
  await utimes(join(from, 'own/.next/server/app/one.html'), time, time)
  await write('.next/server/app/one.html', 'old', runFolder)
  await write('.next/server/app/gone.html', 'old', runFolder)
  assert.equal(await carry(), true)
  assert.equal(await readFile(own('.next/server/app/one.html'), 'utf8'), 'new')
  const { mtimeMs, uid } = await lstat(own('.next/server/app/one.html'))
  assert.deepEqual([Math.round(mtimeMs), uid], [time.getTime(), USER.uid])
  assert.deepEqual(await readdir(own('.next/server/app')), ['one.html'])
  assert.deepEqual(await readdir(own('.next/server')), ['app'], 'nothing is left beside it')
})

test('an app that has written nothing leaves nothing to carry on', async (t) => {
  const { carry } = await open(t)
  assert.equal(await carry(), true)
})

test('links that an app puts into its cache are carried on as links, and nothing behind them', { skip }, async (t) => {
  const { folder, from, write, carry, own } = await open(t)
  await mkdir(join(folder, 'secret'))
  await writeFile(join(folder, 'secret', 'key'), 'not yours')
  await write('.next/cache/page', 'text')
  await symlink(join(folder, 'secret'), join(from, 'own/.next/cache/folder'))
  await symlink(join(folder, 'secret', 'key'), join(from, 'own/.next/cache/file'))
  assert.equal(await carry(), true)
  assert.equal(await readlink(own('.next/cache/folder')), join(folder, 'secret'))
  assert.ok((await lstat(own('.next/cache/file'))).isSymbolicLink())
})

test('a file that the user of the app may not read is not carried on, and that is reported', { skip }, async (t) => {
  const { from, write, carry, own } = await open(t)
  await write('.next/cache/page', 'text')
  await writeFile(join(from, 'own/.next/cache/root'), 'of root', { mode: 0o600 })
  assert.equal(await carry(), false)
  assert.deepEqual(await readdir(own('.next')), [], 'a partial copy is removed')
})

test('files that change during the copy are copied again, and an app that never stops writing is given up', {
  skip,
}, async (t) => {
  const { from, write, carry, own } = await open(t)
  await write('.next/cache/page', 'first')
  let hitForPass = 0
  const restless = (changes: number): Engine => ({
    ...engine,
    async start(job, onOutput) {
      const running = await engine.start(job, onOutput)
      const exited = running.exited.then(async (exit) => {
        if (hitForPass++ < changes) await writeFile(join(from, 'own/.next/cache/page'), `change ${hitForPass}`)
        return exit
      })
      return { ...running, exited }
    },
  })
  assert.equal(await carry(restless(2)), true)
  assert.equal(await readFile(own('.next/cache/page'), 'utf8'), 'change 2')
  hitForPass = 0
  assert.equal(await carry(restless(Number.POSITIVE_INFINITY)), false)
  assert.equal(hitForPass, 5)
})

test('more than the app may have on the disk is not carried on', { skip }, async (t) => {
  const { write, carry, own } = await open(t, { limits: { ...LIMITS, fileBytes: 1000 } })
  await write('.next/cache/page', 'x'.repeat(10_000))
  assert.equal(await carry(), false)
  assert.deepEqual(await readdir(own('.next')), [])
})
