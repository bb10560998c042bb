/** The bundle of a checkout is a cache: it is used only while it is made of the sources that are there. */
import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { bundled, bundlesOf, newestOf, sourcesOf, stampOf } from '../../bin/bundle.js'
import { inAscii, PARTS } from '../../scripts/programs.ts'
import { temporaryFolder } from '../support/folder.ts'

const EDGE = 'edge'

const TOP = dirname(dirname(import.meta.dirname))

async function checkout(t: TestContext) {
  const top = join(await temporaryFolder(t), 'checkout')
  const source = join(top, 'source.ts')
  const folder = join(bundlesOf(top), 'made')
  await mkdir(folder, { recursive: true })
  await writeFile(source, 'first')
  await writeFile(sourcesOf(folder, 'edge'), JSON.stringify([['source.ts', stampOf(source)]]))
  await writeFile(newestOf(top), JSON.stringify({ madeIn: top, name: 'made' }))
  return { top, source }
}

test('a bundle is used while its sources are as they were', async (t) => {
  const { top } = await checkout(t)
  assert.equal(bundled(top, EDGE), join(bundlesOf(top), 'made', 'edge.cjs'))
})

test('a bundle is not used after a source was changed, in its size or its time', async (t) => {
  const { top, source } = await checkout(t)
  await utimes(source, 1, 1)
  assert.equal(bundled(top, EDGE), undefined)
  await writeFile(source, 'second')
  assert.equal(bundled(top, EDGE), undefined)
})

test('a bundle is not used after a source was deleted', async (t) => {
  const { top, source } = await checkout(t)
  await rm(source)
  assert.equal(bundled(top, EDGE), undefined)
})

test('a bundle is not used by a copy of its checkout, whose packages may be those of the first', async (t) => {
  const { top } = await checkout(t)
  await rename(top, `${top}-2`)
  assert.equal(bundled(`${top}-2`, EDGE), undefined)
})

test('checkouts that share their packages each have a bundle', async (t) => {
  const { top } = await checkout(t)
  const other = `${top}-2`
  await mkdir(other)
  await symlink(join(top, 'node_modules'), join(other, 'node_modules'))
  await writeFile(newestOf(other), JSON.stringify({ madeIn: other, name: 'another' }))
  assert.equal(bundled(top, EDGE), join(bundlesOf(top), 'made', 'edge.cjs'))
})

test('a checkout without a bundle, or with one that was cut off, runs its sources', async (t) => {
  const { top } = await checkout(t)
  await writeFile(newestOf(top), '{"madeIn":')
  assert.equal(bundled(top, EDGE), undefined)
  await rm(newestOf(top))
  assert.equal(bundled(top, EDGE), undefined)
})

test('a program in ASCII has the texts and patterns that it had', () => {
  const code = String.raw`
    const at = 'é'
    ;[at, '\\é', '\é', "\n→", ${'`'}😀${'`'}, /[😀-😂]/u.test('😁'), /é\/→/.test('é/→'), { größe: 1 }.größe]`
  const ascii = inAscii(code)
  assert.match(ascii, /^[\0-\x7f]*$/)
  assert.notEqual(ascii, code)
  assert.deepEqual(runInThisContext(ascii), ['é', '\\é', 'é', '\n→', '😀', true, true, 1])
})

test('a program is not written in ASCII where it could tell an escape from a character', () => {
  assert.throws(() => inAscii('String.raw`é`'), /beyond ASCII/)
})

for (const part of PARTS) {
  test(`the ${part} that these tests start is bundled`, () => {
    assert.ok(bundled(TOP, part), 'Sources have changed since: run node test/prepare.ts')
  })
}
