/** Every guide and tutorial ends with what to do if it does not work, in one form, and names no reason that the service does not have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROBLEMS } from '../src/contract/index.ts'
import { guidePages, readPage } from './support/guides.ts'

const HEADING = '## What if it does not work'
const HEAD = '| you see | because | what to do |'
const [FEWEST, MOST] = [3, 6]

/** Other words in capitals that a reader sees: states of certificates. */
const STATES = ['WAITING_FOR_DNS']

/** All but the list of them. */
const guides = (await guidePages()).filter((page) => /^docs\/(?:guides|tutorials)\/(?!README)/.test(page))

/** Without blocks of code, in which a line may begin with hashes. */
const headingsOf = (text: string): string[] =>
  text
    .replaceAll(/^( *)```.*?^\1```$/gms, '')
    .split('\n')
    .filter((line) => /^#{1,6} /.test(line))

test('there are guides', () => assert.ok(guides.length > 35))

for (const page of guides) {
  test(`${page} ends with ${FEWEST} to ${MOST} symptoms, each with its cause and what to do`, async () => {
    const text = await readPage(page)
    const headings = headingsOf(text)
    assert.equal(headings.at(-1), HEADING, 'the last section')
    assert.equal(headings.filter((heading) => heading === HEADING).length, 1)
    const section = text.slice(text.lastIndexOf(HEADING))
    const lines = section.trimEnd().split('\n')
    const at = lines.indexOf(HEAD)
    assert.ok(at > 0, `the table begins with ${HEAD}`)
    const rows = lines.slice(at + 2).map((line) => line.split('|').slice(1, -1))
    assert.ok(rows.length >= FEWEST && rows.length <= MOST, `${rows.length} rows`)
    for (const cells of rows) {
      assert.equal(cells.length, 3, cells.join('|'))
      for (const cell of cells) assert.notEqual(cell.trim(), '', cells.join('|'))
    }
  })

  test(`the reasons that ${page} names as symptoms are those of the service`, async () => {
    const text = await readPage(page)
    const symptoms = text
      .slice(text.lastIndexOf(HEADING))
      .split('\n')
      .map((line) => line.split('|')[1] ?? '')
    for (const [, reason = ''] of symptoms.join('\n').matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g))
      assert.ok(Object.hasOwn(PROBLEMS, reason) || STATES.includes(reason), reason)
  })
}
