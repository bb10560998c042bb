import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWhole, readable } from './path-text.ts'

test('a path is decoded where that is plain text, and else shown as it was asked for', () => {
  assert.equal(readable('/m%C3%BCnchen/%E6%9D%B1'), '/münchen/東')
  for (const path of ['/a%0Ab', '/a%E2%80%AEb', '/a%20b', '/%ff', '/%00', '/a%2Fb']) assert.equal(readable(path), path)
})

test('a path that is masked or cut off leads nowhere', () => {
  assert.ok(isWhole('/news'))
  for (const path of ['/reset/{token}', '/aaaa…', '*', '']) assert.ok(!isWhole(path))
})
