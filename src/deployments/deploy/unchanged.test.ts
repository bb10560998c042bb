import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../../builds/index.ts'
import type { Digest } from '../../storage/index.ts'
import { isUnchanged } from './unchanged.ts'

const SAME: Digest = `sha256:${'a'.repeat(64)}`
const OTHER: Digest = `sha256:${'b'.repeat(64)}`
const variables = [{ kind: 'SECRET' as const, key: 'COLOUR', sealed: 'of red' }]
const planOf = (kind: 'static' | 'server') => ({ output: { kind } }) as Plan
const made = { output: SAME, plan: planOf('static'), variables }

test('files that are the same, to be served in the same way, need no switch', () => {
  assert.equal(isUnchanged(made, { output: SAME, variables }), true)
})

test('other files need a switch', () => {
  assert.equal(isUnchanged(made, { output: OTHER, variables }), false)
})

test('a deployment whose output was removed is not the same as a build without one', () => {
  assert.equal(isUnchanged({ ...made, output: null }, { output: null, variables }), false)
})

test('a live deployment that has other variables is replaced', () => {
  const [colour] = variables
  const others = [
    [],
    [{ ...colour, sealed: 'of blue' }],
    [{ ...colour, kind: 'PLAIN' as const }],
    [...variables, { ...colour, key: 'SIZE' }],
  ] as (typeof variables)[]
  for (const live of others) assert.equal(isUnchanged(made, { output: SAME, variables: live }), false)
})

test('a server is always switched, since it may answer from more than its output', () => {
  assert.equal(isUnchanged({ ...made, plan: planOf('server') }, { output: SAME, variables }), false)
})

test('a build without a plan is never unchanged', () => {
  assert.equal(isUnchanged({ ...made, plan: null }, { output: SAME, variables }), false)
})
