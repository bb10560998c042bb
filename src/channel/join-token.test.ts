import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityText, joinToken, readIdentity, readJoinToken, secretOf, TokenRefused } from './join-token.ts'

const KEY = 'a key that control processes share'

test('a token says its role and name, and has the secret that a control process computes', () => {
  const token = joinToken(KEY, { role: 'edge', name: 'sydney-1' })
  assert.match(token, /^edge:sydney-1:[\w-]{43}$/)
  const { secret, ...identity } = readJoinToken(` ${token}\n`)
  assert.deepEqual(identity, { role: 'edge', name: 'sydney-1' })
  assert.deepEqual(secret, secretOf(KEY, identity))
})

test('another role, another name and another key have other secrets', () => {
  const secrets = [
    joinToken(KEY, { role: 'edge', name: 'a' }),
    joinToken(KEY, { role: 'worker', name: 'a' }),
    joinToken(KEY, { role: 'edge', name: 'b' }),
    joinToken('another key', { role: 'edge', name: 'a' }),
  ].map((token) => token.split(':')[2])
  assert.equal(new Set(secrets).size, 4)
})

test('after a revocation a name has another token, which says its generation', () => {
  const tokens = [0, 1, 2].map((generation) => joinToken(KEY, { role: 'edge', name: 'a', generation }))
  assert.deepEqual(tokens[0], joinToken(KEY, { role: 'edge', name: 'a' }))
  assert.match(tokens[2] ?? '', /^edge:a:2:[\w-]{43}$/)
  assert.equal(new Set(tokens.map((token) => token.split(':').at(-1))).size, 3)
  const { secret, ...identity } = readJoinToken(tokens[2] ?? '')
  assert.deepEqual(identity, { role: 'edge', name: 'a', generation: 2 })
  assert.deepEqual(readIdentity(identityText(identity)), identity)
  assert.deepEqual(secret, secretOf(KEY, identity))
})

test('names that could be mistaken for another text are refused', () => {
  for (const name of ['', '-a', 'a-', '.', 'A', 'a/b', 'a:b', 'a b', 'a\0', 'ä', 'a'.repeat(64)])
    assert.throws(() => joinToken(KEY, { role: 'edge', name }), TokenRefused, JSON.stringify(name))
  for (const role of ['', 'Edge', 'ed/ge', 'edge1'])
    assert.throws(() => joinToken(KEY, { role, name: 'a' }), TokenRefused, JSON.stringify(role))
})

test('what is no token is refused, and the message does not repeat it', () => {
  for (const text of ['', 'edge', 'edge:a', 'edge:a:c2hvcnQ', `${joinToken(KEY, { role: 'edge', name: 'a' })}:more`])
    assert.throws(() => readJoinToken(text), { message: /^this is not a join token/ })
})

test('an identity of a handshake is read strictly', () => {
  assert.deepEqual(readIdentity('edge/sydney-1'), { role: 'edge', name: 'sydney-1' })
  for (const text of [
    '',
    '/',
    'edge',
    'edge/',
    '/a',
    'edge/a/b',
    'edge/a/0',
    'edge/a/01',
    'edge/a/1/1',
    'edge/a/9999999999',
    'edge/a\n',
    'x'.repeat(200),
  ])
    assert.equal(readIdentity(text), undefined, JSON.stringify(text))
})
