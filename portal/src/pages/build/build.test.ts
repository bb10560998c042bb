import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf, isStatic, reasonsOf } from './plan.ts'
import { timesOf } from './times.ts'

test('phases stand in the order in which they pass, and their shares are the whole', () => {
  const times = timesOf({ state: 'SUCCEEDED', durations: { BUILDING: 6, INSTALLING: 3, UNPACKING: 1 } })
  assert.deepEqual(
    times.map(({ phase, share }) => [phase, share]),
    [
      ['UNPACKING', 0.1],
      ['INSTALLING', 0.3],
      ['BUILDING', 0.6],
    ],
  )
  assert.ok(times.every(({ isWhereItStopped }) => !isWhereItStopped))
})

test('a build that failed stopped in its last phase, and phases of no time at all share alike', () => {
  const times = timesOf({ state: 'FAILED', durations: { UNPACKING: 0, PLANNING: 0 } })
  assert.deepEqual(
    times.map(({ share, isWhereItStopped }) => [share, isWhereItStopped]),
    [
      [0.5, false],
      [0.5, true],
    ],
  )
  assert.deepEqual(timesOf({ state: 'CANCELLED', durations: {} }), [])
})

test('a plan is told in facts, and what it does not say is left out', () => {
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

test('an adapter that took the place of another is told with both names', () => {
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
