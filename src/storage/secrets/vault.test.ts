import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createVault } from './vault.ts'

const vault = createVault(randomBytes(32))

test('what was sealed opens at the place it was sealed for', () => {
  assert.equal(vault.open(vault.seal('pässword 😀', 'here'), 'here'), 'pässword 😀')
})

test('the same value sealed twice looks different', () => {
  assert.notEqual(vault.seal('same', 'here'), vault.seal('same', 'here'))
})

test('a sealed value shows the id of its key and nothing of its content', () => {
  const sealed = vault.seal('a very recognisable value', 'here')
  assert.equal(sealed.split('.')[1], vault.keyId)
  assert.doesNotMatch(Buffer.from(sealed.split('.')[3] ?? '', 'base64url').toString('latin1'), /recognisable/)
})

test('a sealed value moved to another place does not open', () => {
  assert.throws(() => vault.open(vault.seal('x', 'here'), 'there'), { name: 'VaultRefusal' })
})

test('a changed bit, a cut tail and another key are refused, never opened as something else', () => {
  const sealed = vault.seal('value', 'here')
  const [version, key, nonce, body = ''] = sealed.split('.')
  const bytes = Buffer.from(body, 'base64url')
  bytes[0] = (bytes[0] ?? 0) ^ 1
  assert.throws(() => vault.open([version, key, nonce, bytes.toString('base64url')].join('.'), 'here'), {
    name: 'VaultRefusal',
  })
  assert.throws(() => vault.open(sealed.slice(0, -4), 'here'), { name: 'VaultRefusal' })
  assert.throws(() => vault.open('', 'here'), { name: 'VaultRefusal' })
  assert.throws(() => createVault(randomBytes(32)).open(sealed, 'here'), /sealed with master key/)
})

test('a derived secret is the same each time, and another for another place or key', () => {
  assert.equal(vault.derive('here'), vault.derive('here'))
  assert.equal(Buffer.from(vault.derive('here'), 'base64url').length, 32)
  assert.notEqual(vault.derive('here'), vault.derive('there'))
  assert.notEqual(vault.derive('here'), createVault(randomBytes(32)).derive('here'))
})
