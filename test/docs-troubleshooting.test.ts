/** Every reason for which a build or a start can fail has a page, and the page agrees with the code. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { diagnose, type FailedPhase } from '../src/builds/diagnose/index.ts'
import { BUILD_FAILURES, helpPage, PROBLEMS, type Reason } from '../src/contract/index.ts'

const TOP = join(import.meta.dirname, '..')
const FOLDER = join(TOP, 'docs/troubleshooting')

/** The service reports these itself, without a log. */
const WITHOUT_A_LOG: readonly Reason[] = [
  'PLAN_FAILED',
  'TOOL_NOT_AVAILABLE',
  'NO_OUTPUT',
  'OUTPUT_TOO_LARGE',
  'IMAGE_REGISTRY_FAILED',
  'SUSPICIOUS_OUTPUT',
  'CHECK_FAILED',
  'QUOTA_EXCEEDED',
  'TOO_MANY_PROCESSES',
  'DISK_LIMIT',
  'BUILD_TIMEOUT',
  'START_TIMEOUT',
  'PORT_NOT_BOUND',
]

/** Reasons that are diagnosed in one phase only: in others the same text has another reason. */
const ONLY_IN: Partial<Record<Reason, FailedPhase>> = {
  REGISTRY_UNREACHABLE: 'INSTALLING',
  DOWNLOAD_FAILED: 'BUILDING',
}

const PHASES: Record<string, FailedPhase> = { installing: 'INSTALLING', building: 'BUILDING', starting: 'STARTING' }

/** The file that is served as the page of a reason. */
const fileOf = (reason: Reason): string => `${helpPage(reason).slice(1)}.md`

const read = (reason: Reason): Promise<string> => readFile(join(TOP, fileOf(reason)), 'utf8')

/** The cells of the only row of the first table. */
function firstRow(text: string): string[] {
  const lines = text.split('\n')
  const row = lines[lines.findIndex((line) => line.startsWith('|---')) + 1] ?? ''
  return row.split('|').map((cell) => cell.trim())
}

test('there is a page for each reason of a failed build, and no other page', async () => {
  const expected = ['docs/troubleshooting/README.md', ...BUILD_FAILURES.map(fileOf)]
  const found = (await readdir(FOLDER)).map((name) => `docs/troubleshooting/${name}`)
  assert.deepEqual(found.sort(), expected.sort())
})

test('a reason that is no failure of a build is explained among all the others', () => {
  assert.equal(helpPage('APP_NOT_FOUND'), '/docs/reference/errors#APP_NOT_FOUND')
})

for (const reason of BUILD_FAILURES) {
  const { fault, retryable } = PROBLEMS[reason]

  test(`the page of ${reason} says whose fault it is and whether a retry helps, as the code does`, async () => {
    const text = await read(reason)
    assert.ok(text.startsWith(`# ${reason}\n`))
    const [, when = '', whose, retry] = firstRow(text)
    assert.deepEqual([whose, retry], [fault, retryable ? 'yes' : 'no'])
    for (const phase of when.split(', '))
      assert.ok(phase === 'planning' || PHASES[phase], `no phase is called ${phase}`)
    for (const heading of ['In the log', 'What to do', 'Does a retry help?']) {
      assert.ok(text.includes(`\n## ${heading}\n`), `${heading} is missing`)
    }
  })

  if (WITHOUT_A_LOG.includes(reason)) continue

  test(`the log on the page of ${reason} is diagnosed as ${reason} in every phase that the page names`, async () => {
    const text = await read(reason)
    const log = /```log\n(.*?)\n```/s.exec(text)?.[1] ?? ''
    const lines = log.split('\n').map((line, index) => ({ number: index + 1, text: line }))
    for (const when of firstRow(text)[1]?.split(', ') ?? []) {
      const phase = PHASES[when] as FailedPhase
      if ((ONLY_IN[reason] ?? phase) !== phase) continue
      const argv = ['npm', 'run', 'build']
      const known = { packageManager: 'npm', lockfile: 'package-lock.json', missing: [], names: {} }
      const cmsHosts = ['cms.example.com']
      const found = diagnose({ phase, argv, exit: { code: 1, signal: null }, lines, ...known, cmsHosts })
      assert.equal(found.reason, reason, `${when}: ${found.message}`)
    }
  })
}

test('the table of the index has every reason as the code has it', async () => {
  const rows = (await readFile(join(FOLDER, 'README.md'), 'utf8')).split('\n').filter((line) => line.startsWith('| ['))
  const expected = await Promise.all(
    BUILD_FAILURES.map(async (reason) => {
      const { fault, retryable, meaning } = PROBLEMS[reason]
      const file = fileOf(reason).split('/').at(-1)
      const when = firstRow(await read(reason))[1]
      return `| [\`${reason}\`](${file}) | ${when} | ${fault} | ${retryable ? 'yes' : 'no'} | ${meaning} |`
    }),
  )
  assert.deepEqual(rows, expected)
})
