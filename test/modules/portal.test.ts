/** The portal is built once after its sources changed, and never holds up the service. */
import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createLog } from '../../src/base/index.ts'
import { openPortal } from '../../src/portal/index.ts'
import { type Scope, temporaryFolder } from '../support/folder.ts'

const log = createLog('silent')
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** A page with one script, built by the same Vite. */
async function smallPortal(t: Scope, script = 'document.title = "small"'): Promise<string> {
  const top = await temporaryFolder(t)
  await symlink(MODULES, join(top, 'node_modules'))
  const folder = join(top, 'portal')
  await mkdir(folder)
  await writeFile(join(folder, 'index.html'), '<!doctype html><script type="module" src="./main.ts"></script>')
  await writeFile(join(folder, 'main.ts'), `export {}\n${script}`)
  return folder
}

const builds = async (folder: string) => (await readdir(join(folder, 'dist'))).sort()

function filesOf(portal: ReturnType<typeof openPortal>) {
  const now = portal.now()
  assert.equal(now.state, 'ready')
  return now.state === 'ready' ? now.files : new Map<string, never>()
}

test('a portal that was never built is built beside the running service, and found built afterwards', async (t) => {
  const folder = await smallPortal(t)
  const first = openPortal({ log, folder })
  assert.equal(first.now().state, 'building')
  await first.settled
  const script = [...filesOf(first)].find(([path]) => path.endsWith('.js'))
  assert.ok(script?.[1].isImmutable)
  assert.match(String(script[1].forms.identity), /small/)

  const second = openPortal({ log, folder })
  assert.equal(second.now().state, 'ready', 'nothing is built when nothing changed')
})

test('a change of a source leads to a new build, and a build from yesterday is removed', async (t) => {
  const folder = await smallPortal(t)
  await openPortal({ log, folder }).settled
  const [before = ''] = await builds(folder)
  const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000)
  await utimes(join(folder, 'dist', before), yesterday, yesterday)
  await writeFile(join(folder, 'main.ts'), 'document.title = "changed"')
  const portal = openPortal({ log, folder })
  assert.equal(portal.now().state, 'building')
  await portal.settled
  assert.match([...filesOf(portal).values()].map(({ forms }) => forms.identity).join('\n'), /changed/)
  const after = await builds(folder)
  assert.equal(after.length, 1)
  assert.notEqual(after[0], before)
})

test('a source that was changed and keeps its size and its time is found', async (t) => {
  const folder = await smallPortal(t, 'document.title = "1"')
  await openPortal({ log, folder }).settled
  openPortal({ log, folder })
  const { atime, mtime } = await stat(join(folder, 'main.ts'))
  await writeFile(join(folder, 'main.ts'), 'export {}\ndocument.title = "2"')
  await utimes(join(folder, 'main.ts'), atime, mtime)
  const portal = openPortal({ log, folder })
  await portal.settled
  assert.match([...filesOf(portal).values()].map(({ forms }) => forms.identity).join('\n'), /["`']2["`']/)
})

test('a changed test of the portal leads to no build', async (t) => {
  const folder = await smallPortal(t)
  await openPortal({ log, folder }).settled
  await writeFile(join(folder, 'main.test.ts'), 'import "node:test"')
  assert.equal(openPortal({ log, folder }).now().state, 'ready')
})

test('services that start at the same time do not break the build of each other', async (t) => {
  const folder = await smallPortal(t)
  const portals = [openPortal({ log, folder }), openPortal({ log, folder }), openPortal({ log, folder })]
  await Promise.all(portals.map(({ settled }) => settled))
  for (const portal of portals) assert.ok(filesOf(portal).has('/index.html'))
  assert.equal((await builds(folder)).length, 1, 'nothing half-made is left')
})

test('sources that cannot be built fail with the reason, and leave nothing behind', async (t) => {
  const folder = await smallPortal(t, 'import "./missing.ts"')
  const portal = openPortal({ log, folder })
  await portal.settled
  const now = portal.now()
  assert.equal(now.state, 'failed')
  assert.match(now.state === 'failed' ? now.fault : '', /missing\.ts/)
  assert.deepEqual(await builds(folder), [])
})

test('a build that takes too long is ended', async (t) => {
  const folder = await smallPortal(t)
  const portal = openPortal({ log, folder, buildMs: 1 })
  await portal.settled
  assert.deepEqual(portal.now(), { state: 'failed', fault: 'building the portal took too long' })
})

test('a service that stops does not wait for the build', async (t) => {
  const folder = await smallPortal(t)
  const portal = openPortal({ log, folder })
  portal.stop()
  await portal.settled
  assert.equal(portal.now().state, 'building')
})

test('an installed package has no sources, and uses the built portal', async (t) => {
  const folder = await smallPortal(t)
  await openPortal({ log, folder }).settled
  const installed = join(await temporaryFolder(t), 'portal')
  await cp(join(folder, 'dist'), join(installed, 'dist'), { recursive: true })
  assert.ok(filesOf(openPortal({ log, folder: installed })).has('/index.html'))
  await rm(installed, { recursive: true })
  assert.equal(openPortal({ log, folder: installed }).now().state, 'failed')
})
