/** Every tutorial says what comes of it, goes step by step, and is run by a test from its own commands. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { commandsOf, guidePages, readPage, TOP, TUTORIALS } from './support/guides.ts'

const INDEX = `${TUTORIALS}/README.md`
/** Where the tests are that run the commands. */
const RUNNERS = ['test/e2e/**/*.ts', 'test/frameworks/*.ts', 'test/suites/*.ts']

const tutorials = (await guidePages()).filter((page) => page.startsWith(`${TUTORIALS}/`) && page !== INDEX)

test('there are tutorials', () => assert.ok(tutorials.length >= 3))

test('the index has a line for each', async () => {
  const lines = (await readPage(INDEX)).split('\n').filter((line) => line.startsWith('| ['))
  for (const page of tutorials)
    assert.equal(lines.filter((line) => line.includes(`](${basename(page)})`)).length, 1, page)
})

for (const page of tutorials) {
  test(`${page} begins with what its reader will have, and how long it takes`, async () => {
    const [, first = ''] = (await readPage(page)).split(/\n{2,}/)
    assert.match(first, /^(?:At|In) the end\b/)
    assert.match(first, /\b(?:minutes|hours?)\b/)
  })

  test(`the steps of ${page} are numbered, one after the other`, async () => {
    const numbers = [...(await readPage(page)).matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number))
    assert.ok(numbers.length >= 3)
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    )
  })

  test(`the commands of ${page} are run by a test that names it`, async () => {
    assert.ok(commandsOf(await readPage(page)).length >= 3, 'it has commands')
    const texts = await Promise.all(RUNNERS.flatMap((each) => globSync(each, { cwd: TOP })).map(textOf))
    assert.ok(texts.some((text) => text.includes(page)))
  })
}

const textOf = (file: string): Promise<string> => readFile(join(TOP, file), 'utf8')
