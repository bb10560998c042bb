import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_A_CLUSTER, ON_ONE_MACHINE, planEditor, planFaults, planOwner, planRude, planVisitor } from './plan.ts'

const all = (seed: number) =>
  [
    planOwner(seed, 0),
    planOwner(seed, 1),
    planEditor(seed, 0),
    planVisitor(seed, 0, 3),
    planRude(seed, 3),
    planFaults(seed, ON_ONE_MACHINE),
    planFaults(seed, IN_A_CLUSTER),
  ].map((next) => Array.from({ length: 200 }, () => next()))

test('the same seed gives the same decisions, for every actor', () => {
  assert.deepEqual(all(7), all(7))
})

test('another seed gives other decisions, and so does another actor', () => {
  assert.notDeepEqual(all(7), all(8))
  const [one, another] = all(7)
  assert.notDeepEqual(one, another)
})

test('every kind of fault occurs', () => {
  for (const [plan, kinds] of [
    [ON_ONE_MACHINE, 19],
    [IN_A_CLUSTER, 27],
  ] as const) {
    const next = planFaults(1, plan)
    assert.equal(new Set(Array.from({ length: 1000 }, () => next().kind)).size, kinds)
  }
})
