import assert from 'node:assert/strict'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import type { Report } from '../output/report.ts'
import type { Terminal } from '../output/terminal.ts'
import { withExample } from './example-file.ts'

type Given = {
  files: Record<string, string>
  answers?: string[]
  root?: string
  given?: { key: string; value: string }[]
}

/** The result of a first deploy of these files, with these answers to questions; without any, there is no terminal. */
async function offered(t: TestContext, { files, answers, root = '', given = [] }: Given) {
  const folder = await temporaryFolder(t)
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  const [notes, shown, asked]: [string[], string[], { question: string; isHidden: boolean }[]] = [[], [], []]
  const left = [...(answers ?? [])]
  const terminal = {
    say: (text: string) => shown.push(text),
    async ask(question: string, hidden?: { isHidden: true }) {
      asked.push({ question, isHidden: hidden !== undefined })
      return left.shift() ?? assert.fail(`no answer is left for ${question}`)
    },
  } as unknown as Terminal
  const report = { note: (text: string) => notes.push(text) } as unknown as Report
  const ask = () => withExample({ terminal, report, isAsking: answers !== undefined, folder, root, given })
  return { folder, notes, shown, asked, variables: await ask(), ask }
}

const EXAMPLE = 'CMS_TOKEN=your-token\nNEXT_PUBLIC_URL=https://example.com\nPORT=3000\nEMPTY=\n'

test('values are asked for one by one, secrets without showing them, and Return leaves one out', async (t) => {
  const { variables, asked, notes } = await offered(t, {
    files: { '.env.example': EXAMPLE, '.env': 'CMS_TOKEN=mine\n' },
    answers: ['', 'hush', 'https://shop.example', ''],
  })
  assert.deepEqual(variables, [
    { key: 'CMS_TOKEN', value: 'hush' },
    { key: 'NEXT_PUBLIC_URL', value: 'https://shop.example' },
  ])
  assert.deepEqual(asked.slice(1), [
    { question: '  CMS_TOKEN (such as your-token): ', isHidden: true },
    { question: '  NEXT_PUBLIC_URL (such as https://example.com): ', isHidden: false },
    { question: '  EMPTY: ', isHidden: true },
  ])
  assert.match(notes.join(), /no value: EMPTY\.\nTo set them: headland variables set EMPTY=VALUE\n/)
})

test('without a terminal the names without a value and the command are listed, and no value is sent', async (t) => {
  const given = [{ key: 'CMS_TOKEN', value: 'given' }]
  const { variables, notes } = await offered(t, {
    files: { '.env.sample': EXAMPLE, '.env': 'NEXT_PUBLIC_URL=mine\n', '.env.local': 'EMPTY=mine' },
    given,
  })
  assert.deepEqual(variables, given)
  assert.deepEqual(notes, [
    '.env.sample names variables that have no value: NEXT_PUBLIC_URL, EMPTY.\nTo set them: headland variables set NEXT_PUBLIC_URL=VALUE EMPTY=VALUE\nand then: headland rebuild',
  ])
})

test('a no sends none of them; without an example nothing is asked', async (t) => {
  const refused = await offered(t, { files: { '.env.template': 'A=1' }, answers: ['n'] })
  assert.deepEqual([refused.variables, refused.asked.length, refused.notes.length], [[], 1, 1])
  const none = await offered(t, { files: { '.env': 'A=1' }, answers: [] })
  assert.deepEqual([none.variables, none.notes], [[], []])
})

test('the example beside the app counts before that of the whole project', async (t) => {
  const files = { '.env.example': 'TOP=1', 'web/.env.local.example': 'INNER=1' }
  const inner = await offered(t, { files, root: 'web' })
  assert.match(inner.notes.join(), /^web\/\.env\.local\.example names variables that have no value: INNER\./)
  const top = await offered(t, { files, root: '../elsewhere' })
  assert.match(top.notes.join(), /value: TOP\./)
})

test('an example of 100 MB, a link and a thousand names do no harm', async (t) => {
  const large = await offered(t, { files: {} })
  await writeFile(join(large.folder, '.env.example'), 'A=1\n')
  await truncate(join(large.folder, '.env.example'), 100_000_000)
  await symlink('/etc/passwd', join(large.folder, '.env.sample'))
  assert.deepEqual(await large.ask(), [])
  assert.match(large.notes.join('\n'), /\.env\.example is not read: .* more than 65536 bytes/)
  assert.match(large.notes.join('\n'), /\.env\.sample is not read: .* is a link/)
  const many = await offered(t, {
    files: { '.env.example': Array.from({ length: 1000 }, (_, i) => `A${i}=`).join('\n') },
  })
  assert.match(many.notes.join(), /A99 and 900 more/)
})

test('what an example holds cannot write to the terminal', async (t) => {
  const { asked } = await offered(t, {
    files: { '.env.example': `A="\x1b[2J\x1b]0;t\x07${'x'.repeat(500)}\nFORGED"` },
    answers: ['', ''],
  })
  assert.doesNotMatch(asked[1]?.question ?? '', /[\p{Cc}\p{Cf}]/u)
  assert.ok((asked[1]?.question.length ?? 0) < 100)
})
