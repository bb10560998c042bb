import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forwardStatus, hitStatus } from './cache-status.ts'

test('a hit says how long it will be one', () => {
  assert.equal(hitStatus(30), 'headland; hit; ttl=30')
  assert.equal(hitStatus(-5, 'stale-while-revalidate'), 'headland; hit; ttl=-5; detail=stale-while-revalidate')
})

test('what was fetched says why, and what became of it', () => {
  assert.equal(forwardStatus({ why: 'uri-miss', stored: true }), 'headland; fwd=uri-miss; stored')
  assert.equal(forwardStatus({ why: 'stale', status: 304 }), 'headland; fwd=stale; fwd-status=304')
  assert.equal(forwardStatus({ why: 'bypass', detail: 'private' }), 'headland; fwd=bypass; detail=private')
  assert.equal(
    forwardStatus({ why: 'vary-miss', status: 200, stored: true, collapsed: true, detail: 'x' }),
    'headland; fwd=vary-miss; fwd-status=200; stored; collapsed; detail=x',
  )
  assert.equal(forwardStatus({ why: 'method', stored: false, collapsed: false }), 'headland; fwd=method')
})

const DETAILS: [detail: string, written: string][] = [
  ['no-lifetime', 'no-lifetime'],
  ['two words', '"two words"'],
  ['1st', '"1st"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ['line\r\nbreak: ü', '"line??break: ?"'],
]

for (const [detail, written] of DETAILS) {
  test(`the detail ${JSON.stringify(detail)} is written as ${written}`, () => {
    assert.equal(hitStatus(1, detail), `headland; hit; ttl=1; detail=${written}`)
  })
}

test('an empty detail is none', () => assert.equal(hitStatus(1, ''), 'headland; hit; ttl=1'))
