import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkScaling,
  DEFAULT_SCALING,
  maxInstances,
  minInstances,
  requestsPerInstance,
  type Scaling,
} from './scaling.ts'

test('the defaults and the widest settings are allowed', () => {
  const widest = { minInstances: 16, maxInstances: 16, requestsPerInstance: 1000 }
  assert.deepEqual(checkScaling(DEFAULT_SCALING), DEFAULT_SCALING)
  assert.deepEqual(checkScaling(widest), widest)
})

const WRONG: Record<string, Partial<Record<keyof Scaling, unknown>>> = {
  'below zero': { minInstances: -1 },
  'none at most': { maxInstances: 0 },
  'too many': { maxInstances: 17 },
  'more at least than at most': { minInstances: 2 },
  'no requests': { requestsPerInstance: 0 },
  'too many requests': { requestsPerInstance: 1001 },
  'a fraction': { maxInstances: 1.5 },
  'a text': { maxInstances: '1' },
  nothing: { requestsPerInstance: undefined },
}

for (const [what, change] of Object.entries(WRONG)) {
  test(`stored numbers of instances with ${what} are refused`, () => {
    assert.throws(() => checkScaling({ ...DEFAULT_SCALING, ...change } as Scaling), /not a number of instances/)
  })
}

test('the schemas name their defaults in their descriptions', () => {
  for (const [schema, by] of [
    [minInstances, DEFAULT_SCALING.minInstances],
    [maxInstances, DEFAULT_SCALING.maxInstances],
    [requestsPerInstance, DEFAULT_SCALING.requestsPerInstance],
  ] as const) {
    assert.match(String(schema.description), new RegExp(` ${by} unless given\\.$`))
  }
})
