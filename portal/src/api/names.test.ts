import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS, names } from '../../../src/contract/index.ts'
import { MESSAGE_MAX_LENGTH, shortId, shortSha } from './names.ts'

const NAME = 'accounts/a/apps/b/environments/c/builds/0198f0a2-1111-7222-8333-44445555abcd'
const SHA = 'c0ffee1234'.padEnd(40, '0')

test('ids and commits are shortened as the command line does it, and messages have the length of the contract', () => {
  assert.equal(shortId(NAME), names.shortId(NAME))
  assert.equal(shortSha(SHA), names.shortSha(SHA))
  assert.equal(MESSAGE_MAX_LENGTH, LIMITS.messageLength)
})
