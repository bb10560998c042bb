import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from '../../../src/contract/index.ts'
import { shortId } from './names.ts'

test('ids are as short as the command line takes them', () => {
  const id = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
  for (const name of [id, `accounts/a/apps/b/environments/c/builds/${id}`, 'accounts/a/builds/no_build', ''])
    assert.equal(shortId(name), contract.shortId(name))
})
