import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../limits.ts'
import { localPath } from './unlock.ts'

test('a visitor returns to the path and query that were asked for', () => {
  for (const to of ['/', '/a', '/a/b?c=d&e=//f', '/?to=https://evil.example', "/a'(b)~|{}%2F", '/.headland/unlocked'])
    assert.equal(localPath(to, LIMITS), to)
})

test('a visitor is sent to no other site', () => {
  const elsewhere = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/a\r\nLocation: //evil.example',
    '/a\\b',
    ' //evil.example',
    'javascript:alert(1)',
    'evil.example',
    '',
    '*',
    '/ü',
    `/${'a'.repeat(LIMITS.unlockReturnLength)}`,
    '/.headland/unlock',
    '/.headland/unlock?to=/',
  ]
  for (const to of elsewhere) assert.equal(localPath(to, LIMITS), '/', JSON.stringify(to))
  for (const to of ['/..//evil.example', '/.//evil.example', '/%2F/evil.example'])
    assert.equal(new URL(localPath(to, LIMITS), 'http://site.example').host, 'site.example', to)
})
