import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { LIMITS } from '../contract/index.ts'
import { createVault } from '../storage/index.ts'
import { createVariables } from './variables.ts'

const variables = createVariables({ vault: createVault(randomBytes(32)) })
const ID = '01900000-0000-7000-8000-000000000000'

test('values are sealed, and opened for the same environment only', () => {
  const sealed = variables.seal(ID, [{ key: 'API_KEY', value: 'hunter2' }])
  assert.doesNotMatch(JSON.stringify(sealed), /hunter2/)
  assert.deepEqual(variables.open(ID, sealed), [{ key: 'API_KEY', value: 'hunter2' }])
  assert.throws(() => variables.open(ID.replace('7000', '7001'), sealed), { name: 'VaultRefusal' })
})

test('a variable sent back without a value keeps the one it has', () => {
  const before = variables.seal(ID, [
    { key: 'A', value: '1' },
    { key: 'B', value: '2' },
  ])
  const after = variables.seal(ID, [{ key: 'B' }, { key: 'C', value: '3' }], before)
  assert.deepEqual(variables.open(ID, after), [
    { key: 'B', value: '2' },
    { key: 'C', value: '3' },
  ])
  assert.throws(() => variables.seal(ID, [{ key: 'NEW' }], before), { reason: 'FIELD_INVALID' })
})

test('a key given twice and a key of the service are refused by name', () => {
  assert.throws(
    () =>
      variables.seal(ID, [
        { key: 'A', value: '' },
        { key: 'A', value: '' },
      ]),
    { fields: [{ field: 'shellVariables[1].key', description: 'A is given twice' }] },
  )
  assert.throws(() => variables.seal(ID, [{ key: 'PORT', value: '1' }]), { reason: 'VARIABLE_RESERVED' })
})

test('size is counted in bytes, for one value and for all together', () => {
  const wide = '€'.repeat(LIMITS.variableValueBytes / 2)
  assert.throws(() => variables.seal(ID, [{ key: 'A', value: wide }]), { reason: 'BODY_TOO_LARGE' })
  const many = Array.from({ length: 9 }, (_, index) => ({
    key: `K${index}`,
    value: 'x'.repeat(LIMITS.variableValueBytes),
  }))
  assert.throws(() => variables.seal(ID, many), { reason: 'BODY_TOO_LARGE' })
})
