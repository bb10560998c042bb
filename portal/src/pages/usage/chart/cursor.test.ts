import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moved } from './cursor.ts'

test('the cursor begins at the present and goes back from there', () => {
  assert.equal(moved('ArrowLeft', undefined, 60), 58)
  assert.equal(moved('PageDown', undefined, 60), 49)
})

test('the cursor stays within the chart', () => {
  assert.equal(moved('ArrowRight', 59, 60), 59)
  assert.equal(moved('ArrowLeft', 0, 60), 0)
  assert.equal(moved('PageDown', 4, 60), 0)
  assert.deepEqual([moved('Home', 30, 60), moved('End', 30, 60)], [0, 59])
})

test('Escape takes the cursor away, and other keys are left to the page', () => {
  assert.equal(moved('Escape', 30, 60), undefined)
  assert.equal(moved('Tab', 30, 60), null)
  assert.equal(moved('g', 30, 60), null)
})
