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
  assert.deepEqual(variables.open(ID, sealed), [{ key: 'API_KEY', kind: 'SECRET', value: 'hunter2' }])
  assert.throws(() => variables.open(ID.replace('7000', '7001'), sealed), { name: 'VaultRefusal' })
})

test('a variable sent back without a value keeps the one it has', () => {
  const before = variables.seal(ID, [
    { key: 'A', value: '1' },
    { key: 'B', value: '2' },
  ])
  const after = variables.seal(ID, [{ key: 'B' }, { key: 'C', value: '3' }], before)
  assert.deepEqual(variables.open(ID, after), [
    { key: 'B', kind: 'SECRET', value: '2' },
    { key: 'C', kind: 'SECRET', value: '3' },
  ])
  assert.throws(() => variables.seal(ID, [{ key: 'NEW' }], before), { reason: 'FIELD_INVALID' })
})

test('a new variable is plain where its name says that frameworks publish it, and a secret otherwise', () => {
  const published = ['NEXT_PUBLIC_A', 'NUXT_PUBLIC_A', 'PUBLIC_A', 'VITE_A', 'REACT_APP_A', 'GATSBY_A', 'EXPO_PUBLIC_A']
  const others = ['API_KEY', 'next_public_a', 'MY_NEXT_PUBLIC_A', 'NEXT_PUBLICA', 'PUBLIC', 'VITEST', 'REACT_APP']
  const kindsOf = (keys: string[]) =>
    new Set(
      variables
        .seal(
          ID,
          keys.map((key) => ({ key, value: '' })),
        )
        .map(({ kind }) => kind),
    )
  assert.deepEqual(kindsOf(published), new Set(['PLAIN']))
  assert.deepEqual(kindsOf(others), new Set(['SECRET']))
})

test('the kind that is given goes before the name, and one sent back without a kind keeps the one it has', () => {
  const before = variables.seal(ID, [
    { key: 'VITE_KEY', kind: 'SECRET', value: '1' },
    { key: 'CITY', kind: 'PLAIN', value: '2' },
  ])
  const after = variables.seal(ID, [{ key: 'VITE_KEY' }, { key: 'CITY', value: '3' }], before)
  assert.deepEqual(variables.open(ID, after), [
    { key: 'VITE_KEY', kind: 'SECRET', value: '1' },
    { key: 'CITY', kind: 'PLAIN', value: '3' },
  ])
})

test('a secret becomes plain only together with its value, and a plain one becomes a secret as it is', () => {
  const before = variables.seal(ID, [
    { key: 'API_KEY', value: 'hunter2' },
    { key: 'CITY', kind: 'PLAIN', value: 'Paris' },
  ])
  assert.throws(() => variables.seal(ID, [{ key: 'CITY' }, { key: 'API_KEY', kind: 'PLAIN' }], before), {
    fields: [
      {
        field: 'shellVariables[1].value',
        description: 'is required: API_KEY is a secret, and becomes PLAIN only together with its value',
      },
    ],
  })
  const after = variables.seal(
    ID,
    [
      { key: 'API_KEY', kind: 'PLAIN', value: 'hunter2' },
      { key: 'CITY', kind: 'SECRET' },
    ],
    before,
  )
  assert.deepEqual(variables.open(ID, after), [
    { key: 'API_KEY', kind: 'PLAIN', value: 'hunter2' },
    { key: 'CITY', kind: 'SECRET', value: 'Paris' },
  ])
})

test('a secret that was taken away leaves no value to a plain one of the same name', () => {
  const before = variables.seal(ID, [{ key: 'API_KEY', value: 'hunter2' }])
  const without = variables.seal(ID, [], before)
  assert.throws(() => variables.seal(ID, [{ key: 'API_KEY', kind: 'PLAIN' }], without), { reason: 'FIELD_INVALID' })
})

test('without FULL only the values of plain variables are shown', () => {
  const sealed = variables.seal(ID, [
    { key: 'API_KEY', value: 'hunter2' },
    { key: 'VITE_CITY', value: 'Paris' },
  ])
  assert.deepEqual(variables.shown(ID, sealed, 'BASIC'), [
    { key: 'API_KEY', kind: 'SECRET' },
    { key: 'VITE_CITY', kind: 'PLAIN', value: 'Paris' },
  ])
  assert.deepEqual(variables.shown(ID, sealed, 'FULL'), variables.open(ID, sealed))
})

test('a list that was read can be sent back and is the same, whichever view it was read by', () => {
  const before = variables.seal(ID, [
    { key: 'API_KEY', value: 'hunter2' },
    { key: 'VITE_CITY', value: 'Paris' },
  ])
  for (const view of ['BASIC', 'FULL'] as const) {
    const after = variables.seal(ID, variables.shown(ID, before, view), before)
    assert.equal(JSON.stringify(after), JSON.stringify(before), view)
  }
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
