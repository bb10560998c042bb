import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redirected, twinsIn } from './change-domains.ts'

const [A, B, C] = ['a.example', 'b.example', 'c.example'] as const

test('a redirect is added, moved, turned round and ended without a chain or a loop', () => {
  const one = redirected([], A, B)
  assert.deepEqual(one, [{ domain: A, to: B }])
  assert.deepEqual(redirected(one, A, C), [{ domain: A, to: C }])
  assert.deepEqual(redirected(one, B, A), [{ domain: B, to: A }], 'the two change places')
  assert.deepEqual(
    redirected(one, B, C),
    [
      { domain: A, to: C },
      { domain: B, to: C },
    ],
    'what led to it goes on to the new target',
  )
  assert.deepEqual(redirected(one, A, undefined), [])
})

test('a domain and its www twin are found where both answer', () => {
  const domains = ['example.com', 'other.example', 'www.example.com']
  assert.deepEqual(twinsIn({ domains, redirects: [] }), { apex: 'example.com', www: 'www.example.com' })
  assert.equal(twinsIn({ domains, redirects: [{ domain: 'example.com', to: 'www.example.com' }] }), undefined)
  assert.equal(twinsIn({ domains: ['www.example.com'], redirects: [] }), undefined)
})
