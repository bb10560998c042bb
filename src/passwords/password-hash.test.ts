import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPasswordHash, makePasswordHash, matchesPasswordHash, randomPasswordHash } from './password-hash.ts'

test('a password matches its own hash and no other, and two hashes of it differ', async () => {
  const [one, other] = [await makePasswordHash('correct horse'), await makePasswordHash('correct horse')]
  assert.notEqual(one, other)
  assert.equal(await matchesPasswordHash('correct horse', one), true)
  assert.equal(await matchesPasswordHash('correct horsE', one), false)
  assert.equal(await matchesPasswordHash('correct horse', randomPasswordHash()), false)
})

test('a hash with other parameters, which could take all memory, is refused', async () => {
  const right = await makePasswordHash('x')
  assert.equal(checkPasswordHash(right), right)
  assert.ok(checkPasswordHash(randomPasswordHash()))
  const [, , , , salt, key] = right.split('$')
  for (const wrong of [
    `scrypt$1073741824$8$3$${salt}$${key}`,
    `scrypt$32768$8$300$${salt}$${key}`,
    `scrypt$32768$8$3$$${key}`,
    `scrypt$32768$8$3$${salt}$`,
    `${right}$`,
    ` ${right}`,
    '',
    null,
    undefined,
    7,
  ])
    assert.throws(() => checkPasswordHash(wrong), /not the hash of a password/, String(wrong))
})
