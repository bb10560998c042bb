import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS, names } from '../../../../src/contract/index.ts'
import { previewOf, wantedOf } from './import-preview.ts'
import { RESERVED } from './reserved.ts'

const entry = (key: string, value: string) => ({ line: 1, key, value })

test('what is new, changed, the same and refused is listed separately', () => {
  const current = new Map([
    ['A', 'one'],
    ['B', 'two'],
    ['HIDDEN', undefined],
  ])
  const given = [entry('A', 'one'), entry('B', '2'), entry('C', '3'), entry('PORT', '80'), entry('HIDDEN', '')]
  const previewed = previewOf(given, current)
  assert.deepEqual(
    previewed.map(({ effect }) => effect),
    ['same', 'changed', 'new', 'refused', 'changed'],
  )
  assert.deepEqual(
    wantedOf(previewed).map(({ key }) => key),
    ['B', 'C', 'HIDDEN'],
  )
})

test('what the service would refuse is refused before it is sent', () => {
  const long = 'A'.repeat(LIMITS.variableKeyLength)
  const given = [entry(long, ''), entry(`${long}A`, ''), entry('NUL', 'a\0b')]
  const max = 'ü'.repeat(LIMITS.variableValueBytes / 2)
  assert.deepEqual(
    previewOf([...given, entry('BIG', max), entry('BIG', `${max}x`)], new Map()).map(({ effect }) => effect),
    ['new', 'refused', 'refused', 'new', 'refused'],
  )
})

test('the reserved names are those of the contract', () => {
  assert.deepEqual([...RESERVED], [...names.RESERVED_VARIABLES])
})
