/** The page about commands has all of them, with all of their options, and no others. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { CLIENT_COMMANDS } from '../src/cli/index.ts'
import type { CommandForm } from '../src/contract/index.ts'
import { COMMANDS } from '../src/operator/index.ts'

const TOP = join(import.meta.dirname, '..')
const FOLDER = join(TOP, 'docs/reference')
const page = await readFile(join(FOLDER, 'commands.md'), 'utf8')

/** Each command as typed, with its description on the page. */
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((section): [string, string] => {
      const [heading = '', ...text] = (section.split(/^## /m)[0] ?? '').split('\n')
      return [heading.slice('`headland '.length, -1), text.join('\n')]
    }),
)

const typed = ({ name, positionals }: CommandForm): string => [name, ...positionals].join(' ')
const forms: readonly CommandForm[] = [...COMMANDS, ...CLIENT_COMMANDS]

test('every command that the help lists is on the page, and no other', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(TOP, 'bin/headland'), '--help'])
  const listed = [...stdout.matchAll(/^ {2}headland (.*?) {2,}(.*)$/gm)]
  assert.ok(listed.length > forms.length, 'the help lists them all, and a few more')
  assert.deepEqual([...sections.keys()].sort(), listed.map(([, command]) => command).sort())
  for (const [, command = '', summary] of listed) {
    assert.ok(sections.get(command)?.startsWith(`\n${summary}.\n`), `${command}: ${summary}`)
  }
})

for (const form of forms) {
  test(`the page has the options of '${form.name}', and no others`, () => {
    const text = sections.get(typed(form)) ?? ''
    const rows = [...text.matchAll(/^\| `(?:-(\w), )?--([\w-]+)(?: (\S+))?` \| (.*) \|$/gm)]
    const also = /^Also (.*)\.$/m.exec(text)?.[1] ?? ''
    const shared = [...also.matchAll(/`--([\w-]+)`/g)].map(([, name]) => name)
    assert.deepEqual([...rows.map(([, , name]) => name), ...shared].sort(), Object.keys(form.options).sort())
    for (const [, short, name = '', value, meaning] of rows) {
      const option = form.options[name]
      const expected = option?.type === 'string' ? (option.value ?? name.toUpperCase()) : undefined
      assert.deepEqual([short, value], [option?.short, expected], name)
      const values = option?.oneOf ? ` One of ${option.oneOf.map((one) => `\`${one}\``).join(', ')}.` : ''
      assert.equal(meaning, `${option?.describe}${values}`)
    }
  })
}

test('every link of the page leads to a file', async () => {
  for (const [, target = ''] of page.matchAll(/\]\(([^)#]+)[^)]*\)/g)) await access(join(FOLDER, target))
})
