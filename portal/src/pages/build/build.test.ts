import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf, isStatic, reasonsOf } from './plan.ts'
import { timesOf } from './times.ts'

test('phases stand in the order in which they pass, and their shares are the whole', () => {
  const { times } = timesOf({ state: 'SUCCEEDED', durations: { BUILDING: 6, INSTALLING: 3, UNPACKING: 1 } })
  assert.deepEqual(
    times.map(({ phase, share, percent }) => [phase, share, percent]),
    [
      ['UNPACKING', 0.1, 10],
      ['INSTALLING', 0.3, 30],
      ['BUILDING', 0.6, 60],
    ],
  )
  assert.ok(times.every(({ isWhereItStopped }) => !isWhereItStopped))
})

test('what is shown of the phases, and of what lies between them, adds up to what the build took', () => {
  const [startTime, finishTime] = ['2026-11-16T08:00:00.000Z', '2026-11-16T08:00:02.700Z']
  const durations = { UNPACKING: 0.21, PLANNING: 2.29, STARTING: 0.02, SWITCHING: 0.03 }
  const { times, total } = timesOf({ state: 'SUCCEEDED', durations, startTime, finishTime })
  assert.equal(total, '2.7 s')
  assert.equal(times.at(-1)?.phase, 'OTHER')
  const tenths = times.reduce((sum, { words }) => sum + Math.round(Number.parseFloat(words) * 10), 0)
  assert.equal(tenths, 27, times.map(({ words }) => words).join(' + '))
  assert.equal(
    times.reduce((sum, { percent }) => sum + percent, 0),
    100,
  )
})

test('the time between phases is not listed where there was none', () => {
  const near = timesOf({
    state: 'SUCCEEDED',
    durations: { UNPACKING: 0.25, PLANNING: 1.72 },
    startTime: '2026-11-16T08:00:00.000Z',
    finishTime: '2026-11-16T08:00:02.000Z',
  })
  assert.deepEqual(
    near.times.map(({ phase }) => phase),
    ['UNPACKING', 'PLANNING'],
  )
  assert.equal(
    near.times.reduce((sum, { percent }) => sum + percent, 0),
    100,
  )
  assert.ok(Math.abs(near.times.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9)
  const { times, total } = timesOf({ state: 'SUCCEEDED', durations: { UNPACKING: 1, BUILDING: 64.2 } })
  assert.deepEqual(
    [total, ...times.map(({ phase, words }) => `${phase} ${words}`)],
    ['1 min 5 s', 'UNPACKING 1 s', 'BUILDING 1 min 4 s'],
  )
})

test('a build that failed stopped in its last phase, and phases of no time at all share alike', () => {
  const { times } = timesOf({ state: 'FAILED', durations: { UNPACKING: 0, PLANNING: 0 } })
  assert.deepEqual(
    times.map(({ share, isWhereItStopped }) => [share, isWhereItStopped]),
    [
      [0.5, false],
      [0.5, true],
    ],
  )
  assert.deepEqual(timesOf({ state: 'CANCELLED', durations: {} }).times, [])
})

test('a plan is shown as facts, and missing fields are left out', () => {
  const facts = factsOf({
    framework: 'nextjs',
    frameworkVersion: '^16',
    packageManager: { name: 'npm', version: '*', lockfile: null },
    install: { argv: ['npm', 'ci'] },
    build: null,
    output: { kind: 'server', folder: '.', start: { argv: ['npm', 'start'] } },
  })
  assert.deepEqual(Object.fromEntries(facts.map(({ name, text }) => [name, text])), {
    Framework: 'nextjs ^16',
    'Package manager': 'npm',
    Install: 'npm ci',
    Start: 'npm start',
    Output: 'a server, from the root directory',
  })
})

test('an adapter that replaced another is shown with both names', () => {
  const adapter = { replaces: '@astrojs/vercel', by: '@astrojs/node', environment: {} }
  assert.deepEqual(factsOf({ adapter }), [{ name: 'Adapter', text: '@astrojs/node, in place of @astrojs/vercel' }])
})

test('a plan that is nothing like one does no harm', () => {
  assert.deepEqual(factsOf({ framework: 7, output: 'x', install: [], packageManager: null, adapter: { by: 1 } }), [])
  assert.deepEqual(reasonsOf({ detectedBy: 'x' }), [])
  assert.equal(isStatic(undefined), undefined)
  assert.equal(isStatic({}), undefined)
  assert.equal(isStatic({ output: { kind: 'static' } }), true)
})
