/** How files and functions are arranged, so that they can be read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circles, crowdedFolders } from '../support/architecture/structure.ts'
import { isMigration } from '../support/architecture/tables.ts'
import { pathsIn, readText, sourcesIn } from '../support/architecture/tree.ts'

const MAX_FILES_IN_FOLDER = 25

test('no files import each other in a circle, not even for their types', async () => {
  assert.deepEqual(circles(await sourcesIn('src')), [])
  assert.deepEqual(circles(await sourcesIn('portal/src')), [])
})

test(`no folder has more than ${MAX_FILES_IN_FOLDER} files`, async () => {
  // Migrations are a list that only grows.
  const paths = (await pathsIn('src', 'portal/src', 'test')).filter((path) => !isMigration(path))
  assert.deepEqual(crowdedFolders(paths, MAX_FILES_IN_FOLDER), [])
})

test('functions have at most 150 lines and four positional parameters, by the rules of the linter', async () => {
  const { linter } = JSON.parse(await readText('biome.json'))
  const { noExcessiveLinesPerFunction, useMaxParams } = linter.rules.complexity
  assert.deepEqual(noExcessiveLinesPerFunction, { level: 'error', options: { maxLines: 150 } })
  assert.deepEqual(useMaxParams, { level: 'error', options: { max: 4 } })
})

const source = (path: string, ...imports: string[]) => ({
  path,
  text: imports.map((one) => `import type { A } from '${one}'`).join('\n'),
})

test('a circle is found, however long it is, and a chain is none', () => {
  const chain = [source('src/a.ts', './b.ts', './c.ts'), source('src/b.ts', './c.ts'), source('src/c.ts')]
  assert.deepEqual(circles(chain), [])
  const circle = [...chain.slice(0, 2), source('src/c.ts', './d/d.ts'), source('src/d/d.ts', '../a.ts')]
  assert.deepEqual(circles(circle), [['src/a.ts', 'src/b.ts', 'src/c.ts', 'src/d/d.ts']])
})

test('files of a folder are counted without those of its folders', () => {
  assert.deepEqual(crowdedFolders(['a/1', 'a/2', 'a/b/1', 'a/b/2', 'a/b/3'], 2), ['a/b has 3 files'])
})

test('no module is imported for its effects alone: a bundle leaves out modules of which nothing is used', async () => {
  const found = (await sourcesIn('src')).filter(({ text }) => /^import '\./m.test(text)).map(({ path }) => path)
  assert.deepEqual(found, [])
})
