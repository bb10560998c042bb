import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { createLineLogs } from '../../storage/index.ts'
import type { Plan } from '../plan/plan.ts'
import { createBuildCaches } from './caches.ts'
import { createWorkspace } from './workspace.ts'

const TURBOPACK = '.next/cache/turbopack'
const plan = { framework: 'nextjs', rootDirectory: '', caches: { compile: [TURBOPACK], data: [] } } as unknown as Plan

/** One build after another in the same environment. `leave` writes what compilers leave into the work folder. */
async function builder(t: Scope) {
  const top = await temporaryFolder(t)
  const folder = join(top, 'cache')
  await mkdir(folder)
  const logs = createLineLogs(top)
  let count = 0
  return async (leave: (work: string) => Promise<unknown> = async () => undefined) => {
    const workspace = createWorkspace({ folder: join(top, `work${++count}`), user: undefined, isLayered: false })
    await workspace.empty()
    const work = await workspace.makeFolder('source')
    const log = await logs.create(`build${count}`, { secrets: [], whenFull: 'stop', maxBytes: 100_000 })
    const caches = createBuildCaches({ folder, workspace, plan, node: '24', isClean: false, log })
    await caches.restore(work)
    const { mount } = await caches.nodeCache()
    await writeFile(join(mount.from, 'compiled'), 'what Node keeps for itself')
    await leave(work)
    await caches.gather(work)
    await caches.commit()
    await log.close()
    const text = (await logs.read(`build${count}`, 0)).map(({ text }) => text).join('\n')
    return { use: caches.uses().find(({ cache }) => cache === 'compile'), text }
  }
}

const leave = (text: string) => async (work: string) => {
  await mkdir(join(work, TURBOPACK), { recursive: true })
  if (text !== '') await writeFile(join(work, TURBOPACK, 'x'), text)
}

test('a compiler that left nothing is no hit for the next build, and the log says that nothing is kept', async (t) => {
  const build = await builder(t)
  for (let times = 0; times < 2; times++) {
    const { use, text } = await build()
    assert.deepEqual(use, { cache: 'compile', state: 'MISS', bytes: 0, savedBytes: 0 })
    assert.match(text, /There are no compiler caches for the next build\./)
    assert.doesNotMatch(text, /Kept/)
  }
})

test('an empty folder of a cache is no hit either', async (t) => {
  const build = await builder(t)
  await build(leave(''))
  assert.equal((await build()).use?.state, 'MISS')
})

test('what a compiler left is a hit of its bytes for the next build, and without what Node keeps', async (t) => {
  const build = await builder(t)
  assert.deepEqual((await build(leave('12345'))).use, { cache: 'compile', state: 'MISS', bytes: 0, savedBytes: 5 })
  const { use, text } = await build(leave('1234567'))
  assert.deepEqual(use, { cache: 'compile', state: 'HIT', bytes: 5, savedBytes: 7 })
  assert.match(text, /Kept for the next build: 7 B of compiler caches\./)
})
