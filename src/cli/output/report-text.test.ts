import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Build, Operation, Waiting } from '../../client/index.ts'
import { appNameFrom } from '../project/target.ts'
import { countInWords, secondsInWords } from './figures.ts'
import type { LogLine } from './log-lines.ts'
import { uploadInWords } from './progress.ts'
import { createJsonReport } from './report-json.ts'
import { createTextReport } from './report-text.ts'
import type { Terminal } from './terminal.ts'

function recorder() {
  const messages: string[] = []
  const printed: string[] = []
  const terminal: Terminal = {
    isInteractive: false,
    isShown: false,
    isDrawn: false,
    columns: () => 80,
    rows: () => 24,
    draw: () => undefined,
    write: async () => undefined,
    print: (text) => void printed.push(text),
    say: (text) => void messages.push(text),
    paint: (_, text) => text,
    status: () => undefined,
    listen: () => () => undefined,
    ask: () => Promise.reject(new Error('no question is expected')),
  }
  return { messages, printed, report: createTextReport(terminal) }
}

const line = (number: number, phase: string, time: number, text: string): LogLine => ({
  number,
  phase,
  time,
  text,
  stream: 'stdout',
})

test('a phase is a heading once, with the time at which it began, and lines cannot move the cursor', () => {
  const { messages, report } = recorder()
  report.line(line(1, 'UNPACKING', 1000, 'a'))
  report.line(line(2, 'BUILDING', 5200, 'b\x1b[2Jc\r'))
  report.line(line(3, 'BUILDING', 9000, 'd'))
  assert.deepEqual(messages, ['Unpacking', '  a', 'Building  +4.2 s', '  bc', '  d'])
})

test('the position in the queue is printed when it changes', () => {
  const { messages, report } = recorder()
  const at = (queuePosition?: number) =>
    report.state({ metadata: { phase: 'QUEUED', queuePosition } } as unknown as Operation)
  for (const position of [undefined, 3, 3, 2, 1]) at(position)
  assert.deepEqual(messages, [
    'Waiting: 2 builds before this one',
    'Waiting: 1 build before this one',
    'Waiting: it is the next',
  ])
})

test('what a build waits for is printed when it changes', () => {
  const { messages, report } = recorder()
  const at = (waiting?: Waiting) => report.state({ metadata: { phase: 'QUEUED', waiting } } as unknown as Operation)
  const machine = (ahead: number): Waiting => ({
    reason: 'MACHINE',
    ahead,
    message: `Waiting for ${ahead} builds ahead of it on this machine.`,
  })
  for (const waiting of [undefined, machine(3), machine(3), machine(2)]) at(waiting)
  at({ reason: 'ENVIRONMENT', ahead: 1, message: 'Waiting for another build of this environment.\x1b[2J' })
  assert.deepEqual(messages, [
    'Waiting for 3 builds ahead of it on this machine',
    'Waiting for 2 builds ahead of it on this machine',
    'Waiting for another build of this environment',
  ])
})

const BUILD = {
  createTime: '2026-01-01T00:00:00Z',
  finishTime: '2026-01-01T00:01:05Z',
  durations: { BUILDING: 61.2, SWITCHING: 0.04 },
} as unknown as Build

test('the address of the site is all that a pipe gets', () => {
  const { messages, printed, report } = recorder()
  report.succeeded({ url: 'http://shop.localhost', build: BUILD, deployment: 'd' })
  assert.deepEqual(printed, ['http://shop.localhost'])
  assert.match(messages.join('\n'), /^\nLive\. 1 min 5 s in all: building 1 min 1 s, switching 0 s, other 4 s\.$/)
})

test('a failure shows the reason, the line with its neighbours, what changed, and what to do', () => {
  const { messages, report } = recorder()
  const failure = {
    reason: 'TYPE_ERROR',
    fault: 'app' as const,
    retryable: false,
    message: 'The TypeScript compiler found an error.',
    logLine: 2,
    cause: 'The cause is in the app.',
    todo: 'Mend it.',
    page: 'http://127.0.0.1:8080/docs/troubleshooting/type-error',
    changes: ['package.json: changed'],
  }
  const lines = [line(1, 'BUILDING', 0, 'before'), line(2, 'BUILDING', 0, 'error TS1'), line(3, 'BUILDING', 0, 'after')]
  report.failed({ build: BUILD, failure, lines, isLive: true })
  assert.deepEqual(messages.slice(1), [
    'Failed: TYPE_ERROR',
    'The TypeScript compiler found an error.',
    'The cause is in the app.',
    '',
    '  1  before',
    '> 2  error TS1',
    '  3  after',
    '',
    'Since the last build that went well:',
    '  package.json: changed',
    '',
    'What to do:',
    '  Mend it.',
    '  More: http://127.0.0.1:8080/docs/troubleshooting/type-error',
    '',
    'Visitors get what they got before.',
  ])
})

test('a failure message that the log has shown already is not repeated', () => {
  const { messages, report } = recorder()
  const failure = {
    reason: 'TYPE_ERROR',
    fault: 'app' as const,
    retryable: false,
    message: 'The TypeScript compiler found an error.',
    logLine: 0,
    cause: 'The cause is in the app.',
    todo: 'Mend it.',
    page: 'docs/troubleshooting/type-error.md',
    changes: ['package.json: changed', 'a.ts: changed'],
  }
  report.line({ ...line(1, 'BUILDING', 0, failure.message), stream: 'service' })
  report.line({ ...line(2, 'BUILDING', 0, 'package.json: changed'), stream: 'service' })
  report.failed({ build: BUILD, failure, lines: [], isLive: true })
  const text = messages.join('\n')
  assert.equal(text.split(failure.message).length - 1, 1)
  assert.equal(text.split('package.json: changed').length - 1, 1)
  assert.match(text, /Failed: TYPE_ERROR[\s\S]*a\.ts: changed/)
})

const MB = 1024 ** 2

test('the line of an upload fits the terminal, and says how long it will take', () => {
  const wide = uploadInWords(25 * MB, 100 * MB, 5, 100)
  assert.equal(wide, `Uploading  ${'█'.repeat(8)}${'░'.repeat(22)}  25.0 MB of 100 MB  5.0 MB/s  15 s left`)
  assert.equal(uploadInWords(25 * MB, 100 * MB, 5, 40), 'Uploading  25.0 MB of 100 MB  5.0 MB/s  15 s left')
  assert.equal(uploadInWords(10, 10, 0, 80), 'Uploaded 10 B; it is checked …')
})

test('figures are as people read them', () => {
  const times = [0, 0.44, 9.94, 9.96, 59.4, 59.6, 125, 3600].map(secondsInWords)
  assert.deepEqual(times, ['0.0 s', '0.4 s', '9.9 s', '10 s', '59 s', '1 min', '2 min 5 s', '1 h'])
  assert.deepEqual([countInWords(1, 'file'), countInWords(1204, 'file')], ['1 file', '1,204 files'])
})

test('the name of a package or of a folder becomes the name of an app', () => {
  assert.equal(appNameFrom('@acme/web shop'), 'web-shop')
  assert.equal(appNameFrom(undefined, '.hidden folder.'), 'hidden-folder')
  assert.equal(appNameFrom('', '日本'), 'app')
  assert.equal(appNameFrom('x'.repeat(60)).length, 40)
})

test('warnings of a build are printed at the end and by --json; an older service has none', () => {
  const done = { url: 'http://x', deployment: '' }
  const warnings = ['Node 18.20.8 no longer gets security fixes.\nLive.\x1b[2J']
  const { messages, report } = recorder()
  report.succeeded({ ...done, build: { ...BUILD, warnings } })
  assert.equal(messages.at(-1), 'warning  Node 18.20.8 no longer gets security fixes.\n  Live.')
  const printed: string[] = []
  createJsonReport({ print: (text) => void printed.push(text) }).succeeded({ ...done, build: { ...BUILD, warnings } })
  assert.deepEqual(JSON.parse(printed[0] ?? '').warnings, warnings)
  const older = recorder()
  older.report.succeeded({ ...done, build: BUILD })
  assert.doesNotMatch(older.messages.join(), /warning/)
})

test('a held build is reported with what is missing and what to do, as text and as JSON', () => {
  const build = { name: 'accounts/a/builds/1', state: 'SUCCEEDED' } as Build
  const held = { reason: 'SUSPICIOUS_OUTPUT', page: 'docs/x.md', message: 'm', todo: 't', unreachable: [] }
  const { messages, printed, report } = recorder()
  report.held(build, held, 'Missing: /a. Make it live: headland deployments activate 1.')
  assert.deepEqual(messages, [
    '',
    'Held: SUSPICIOUS_OUTPUT',
    'Missing: /a. Make it live: headland deployments activate 1.',
    'More: docs/x.md',
  ])
  assert.deepEqual(printed, [], 'a script gets no address of a site')
  const lines: string[] = []
  createJsonReport({ print: (text) => void lines.push(text) }).held(build, held, 'Missing: /a.')
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    ...{ event: 'held', build: build.name, state: 'SUCCEEDED' },
    ...held,
    message: 'Missing: /a.',
  })
})
