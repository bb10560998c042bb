import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../../test/support/fuzz.ts'
import type { Build, Operation } from '../../../client/index.ts'
import type { LogLine } from '../log-lines.ts'
import { lineWidth, textOf } from './lines.ts'
import { accepted, connection, ended, logged, type Model, polled, START, uploading } from './model.ts'
import { summaryOf, viewOf } from './view.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const MIB = 1024 ** 2
const SIZE = { columns: 60, rows: 23 }

const operation = (metadata: object) =>
  ({ metadata: { phase: 'QUEUED', createTime: new Date(NOW).toISOString(), ...metadata } }) as Operation

const line = (phase: string, seconds: number, text: string, stream: LogLine['stream'] = 'service'): LogLine => ({
  number: 1,
  phase,
  time: NOW + seconds * 1000,
  stream,
  text,
})

const shown = (model: Model, seconds: number, size = SIZE) => viewOf(model, size, NOW + seconds * 1000).map(textOf)

const QUEUED = accepted(START, operation({ waiting: { reason: 'MACHINE', ahead: 2, message: '' } }), NOW)

/** Unpacked in one second, planned in two, and installing since then. */
const INSTALLING = [
  line('UNPACKING', 1, 'Unpacked 1 KB in 3 files.'),
  line('PLANNING', 2, 'package.json depends on vite'),
  line('INSTALLING', 4, '$ npm ci'),
  line('INSTALLING', 5, 'added 15 packages', 'stdout'),
].reduce((model, one) => logged(model, one, one.time), QUEUED)

test('an upload shows how much is sent, how fast it is, and how long it takes', () => {
  const model = uploading(uploading(START, 0, 4 * MIB, NOW), MIB, 4 * MIB, NOW)
  assert.match(shown(model, 2)[0] ?? '', /^ {2}\S Uploading +2 s {2}█████░{15} {2}1\.0 MB of/)
  assert.match(shown(model, 2, { ...SIZE, columns: 99 })[0] ?? '', /1\.0 MB of 4\.0 MB {2}512 KB\/s {2}6\.0 s left$/)
})

test('a build that waits shows how many are ahead of it, and what comes after', () => {
  assert.deepEqual(shown(QUEUED, 3), [
    '  ⠋ Waiting            3 s  2 builds ahead',
    '  · Unpacking',
    '  · Planning',
    '  · Installing',
    '  · Building',
    '  · Starting',
    '  · Switching',
  ])
})

test('steps that are over have a time, the running one counts, and the end of the log is below', () => {
  assert.deepEqual(shown(INSTALLING, 16), [
    '  ✓ Waiting          1.0 s',
    '  ✓ Unpacking        1.0 s',
    '  ✓ Planning         2.0 s',
    '  ⠋ Installing        12 s',
    '  · Building',
    '  · Starting',
    '  · Switching',
    '',
    '  │ Unpacked 1 KB in 3 files.',
    '  │ package.json depends on vite',
    '  │ $ npm ci',
    '  │ added 15 packages',
  ])
})

test('the times are those of the service, whatever the clock of this machine says', () => {
  const hourMs = 3_600_000
  const late = logged(accepted(START, operation({}), NOW - hourMs), line('BUILDING', 5, 'x'), NOW + 5000 - hourMs)
  assert.match(viewOf(late, SIZE, NOW + 8000 - hourMs).map(textOf)[1] ?? '', /Building +3 s/)
})

test('a check of pages is a step of its own, which no text of an app begins', () => {
  const started = logged(INSTALLING, line('STARTING', 6, 'it listens', 'stdout'), NOW + 6000)
  const faked = logged(started, line('STARTING', 7, 'Checking 3 pages', 'stdout'), NOW + 7000)
  assert.ok(!shown(faked, 8).some((text) => /Checking +/.test(text) && !text.includes('│')))
  const checking = logged(started, line('STARTING', 7, 'Checking 3 pages beside the live version.'), NOW + 7000)
  const later = logged(checking, line('STARTING', 8, 'a line of the app', 'stdout'), NOW + 8000)
  assert.deepEqual(shown(later, 9).slice(4, 6), ['  ✓ Starting         1.0 s', '  ⠋ Checking           2 s'])
})

test('a second attempt begins its steps again, and says so', () => {
  const again = logged(
    logged(INSTALLING, line('BUILDING', 6, 'it fails'), NOW + 6000),
    line('INSTALLING', 8, '$ npm ci'),
    NOW + 8000,
  )
  const lines = shown(again, 10)
  assert.match(lines[3] ?? '', /Installing +2 s {2}second attempt, without caches$/)
  assert.equal(lines[4], '  · Building')
  // The operation is behind the log: it is still at the first attempt.
  assert.deepEqual(shown(polled(again, operation({ phase: 'BUILDING' }), NOW + 9000), 10), lines)
})

test('without a log the phase of the operation moves on, and never back', () => {
  const building = polled(QUEUED, operation({ phase: 'BUILDING' }), NOW + 2000)
  const behind = polled(building, operation({ phase: 'PLANNING' }), NOW + 3000)
  assert.match(shown(behind, 5)[1] ?? '', /Building +3 s$/)
})

test('a lost connection is shown below the steps, until it is back', () => {
  const lost = connection(INSTALLING, false)
  assert.ok(shown(lost, 6).includes('  ! The connection is lost; waiting for the service.'))
  assert.ok(!shown(polled(lost, operation({ phase: 'INSTALLING' }), NOW), 6).some((text) => text.includes('lost')))
})

test('in a low terminal the log goes first, then what has not begun, then what is over', () => {
  assert.equal(shown(INSTALLING, 6, { ...SIZE, rows: 10 }).at(-1), '  │ added 15 packages')
  assert.equal(shown(INSTALLING, 6, { ...SIZE, rows: 10 }).length, 10)
  assert.equal(shown(INSTALLING, 6, { ...SIZE, rows: 8 }).at(-1), '  · Switching')
  assert.deepEqual(
    shown(INSTALLING, 6, { ...SIZE, rows: 3 }).map((text) => text.slice(4, 14)),
    ['Unpacking ', 'Planning  ', 'Installing'],
  )
  assert.match(shown(INSTALLING, 6, { ...SIZE, rows: 1 }).join(), /^ {2}\S Installing/)
})

test('no log line leaves its place, whatever it contains and whatever size the terminal has', () =>
  holds(
    fc.property(
      fc.array(
        fc.constantFrom(
          '\x1b[2J',
          '\x1b[5A',
          '\x1b]0;t\x07',
          '\u009b3A',
          '\r',
          '\n',
          '\t',
          '字',
          '👩‍👩‍👧',
          '❤️',
          'e\u0301',
          '\u202e',
          'ab ',
        ),
        { maxLength: 40 },
      ),
      fc.integer({ min: 1, max: 90 }),
      fc.integer({ min: 1, max: 30 }),
      (pieces, columns, rows) => {
        const hostile = logged(INSTALLING, line('INSTALLING', 6, pieces.join(''), 'stdout'), NOW + 6000)
        const lines = viewOf(hostile, { columns, rows }, NOW + 7000)
        assert.ok(lines.length <= rows)
        for (const one of lines) {
          assert.doesNotMatch(textOf(one), /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u)
          assert.ok(lineWidth(one) <= columns, `${lineWidth(one)} of ${columns}`)
        }
      },
    ),
    200,
  ))

test('when it is over, the steps are kept with the times that the service has measured', () => {
  const checking = logged(INSTALLING, line('STARTING', 6, 'Checking 1 page beside the live version.'), NOW + 6000)
  const switching = logged(checking, line('SWITCHING', 7, 'Live.'), NOW + 7000)
  const build = {
    createTime: new Date(NOW).toISOString(),
    startTime: new Date(NOW + 1500).toISOString(),
    durations: { UNPACKING: 0.2, PLANNING: 0.3, INSTALLING: 4, STARTING: 2.5, SWITCHING: 0.1 },
  } as unknown as Build
  const over = summaryOf(ended(switching, build, NOW + 7500), { isFailed: false }).map(textOf)
  assert.deepEqual(over, [
    '  ✓ Waiting          1.5 s',
    '  ✓ Unpacking        0.2 s',
    '  ✓ Planning         0.3 s',
    '  ✓ Installing       4.0 s',
    '  ✓ Starting         1.5 s',
    '  ✓ Checking         1.0 s',
    '  ✓ Switching        0.1 s',
  ])
  const failed = summaryOf(ended(INSTALLING, undefined, NOW + 9000), { isFailed: true }).map(textOf)
  assert.equal(failed.at(-1), '  ✗ Installing       5.0 s')
})
