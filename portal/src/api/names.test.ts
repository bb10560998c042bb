import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortId as contractShortId, LIMITS, names } from '../../../src/contract/index.ts'
import { MESSAGE_MAX_LENGTH, shortId, shortSha } from './names.ts'

const SHA = 'c0ffee1234'.padEnd(40, '0')

test('ids and commits are as short as on the command line, and messages have the length of the contract', () => {
  const id = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
  for (const name of [id, `accounts/a/apps/b/environments/c/builds/${id}`, 'accounts/a/builds/no_build', ''])
    assert.equal(shortId(name), contractShortId(name))
  assert.equal(shortSha(SHA), names.shortSha(SHA))
  assert.equal(MESSAGE_MAX_LENGTH, LIMITS.messageLength)
})
