import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createVault } from '../storage/index.ts'
import { createTokens } from './tokens.ts'

const key = randomBytes(32)
const tokens = createTokens({ vault: createVault(key) })
const [ours, theirs] = ['0199e7c0-0000-7000-8000-000000000001', '0199e7c0-0000-7000-8000-000000000002']

test('a token leads to its environment, after a restart too', () => {
  const token = tokens.of(ours, 'kv-store')
  assert.equal(tokens.environmentOf(token, 'kv-store'), ours)
  assert.equal(createTokens({ vault: createVault(key) }).of(ours, 'kv-store'), token)
})

test('a token has 256 bits that are unknown without the key', () => {
  const secretOf = (token: string) => Buffer.from(token.split('.')[1] ?? '', 'base64url')
  assert.equal(secretOf(tokens.of(ours, 'apps-api')).length, 32)
  const other = createTokens({ vault: createVault(randomBytes(32)) })
  assert.notDeepEqual(secretOf(other.of(ours, 'apps-api')), secretOf(tokens.of(ours, 'apps-api')))
  assert.equal(tokens.environmentOf(other.of(ours, 'apps-api'), 'apps-api'), undefined)
})

test('a token for one use is invalid for the other', () => {
  assert.equal(tokens.environmentOf(tokens.of(ours, 'kv-store'), 'apps-api'), undefined)
  assert.equal(tokens.environmentOf(tokens.of(ours, 'apps-api'), 'kv-store'), undefined)
})

test("a token with another environment's name, with a changed end, or of another form is invalid", () => {
  const token = tokens.of(ours, 'kv-store')
  const [, secret = ''] = token.split('.')
  const changed = `${token.slice(0, -2)}${token.at(-2) === 'A' ? 'B' : 'A'}${token.at(-1)}`
  for (const wrong of [
    `${theirs}.${secret}`,
    changed,
    secret,
    `.${secret}`,
    `${token} `,
    ` ${token}`,
    `${ours}.`,
    '',
  ]) {
    assert.equal(tokens.environmentOf(wrong, 'kv-store'), undefined, wrong)
  }
})
