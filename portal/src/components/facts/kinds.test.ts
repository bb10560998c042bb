import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from '../../../../src/contract/index.ts'
import { KIND_WORDS, kindByName, PUBLIC_PREFIXES } from './kinds.ts'

test('the kinds, and the names that are plain, are those of the contract', () => {
  assert.deepEqual(PUBLIC_PREFIXES, contract.PUBLIC_PREFIXES)
  assert.deepEqual(Object.keys(KIND_WORDS), contract.VARIABLE_KINDS)
  for (const key of [...PUBLIC_PREFIXES.map((prefix) => `${prefix}A`), 'A', '', 'vite_a'])
    assert.equal(kindByName(key), contract.kindByName(key), key)
})
