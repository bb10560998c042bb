import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDictionary } from './structured-field.ts'

const yes = { kind: 'boolean', value: true }
const other = { kind: 'other' }

const READ: [text: string, members: Record<string, unknown>][] = [
  ['', {}],
  ['a', { a: yes }],
  ['a=?0, b=?1', { a: { kind: 'boolean', value: false }, b: yes }],
  ['max-age=60 ,\tno-store', { 'max-age': { kind: 'integer', value: 60 }, 'no-store': yes }],
  ['a=-1', { a: { kind: 'integer', value: -1 } }],
  ['a=999999999999999', { a: { kind: 'integer', value: 999999999999999 } }],
  ['a=1.5, b=token, c=:AQI=:, d=(1 "x";y  z)', { a: other, b: other, c: other, d: other }],
  ['a="x, \\"y\\\\"', { a: { kind: 'string', value: 'x, "y\\' } }],
  ['a=1;x;y=2; z="3", b', { a: { kind: 'integer', value: 1 }, b: yes }],
  ['a=1, a=2', { a: { kind: 'integer', value: 2 } }],
]

for (const [text, members] of READ) {
  test(`the dictionary ${text} is read`, () => {
    assert.deepEqual(Object.fromEntries(readDictionary(text) ?? [['not', 'read']]), members)
  })
}

const SPOILED = [
  'a,',
  ',a',
  'a b',
  'a=',
  'a= 1',
  'a =1',
  'A=1',
  'a=1.',
  'a=1.2345',
  'a=1000000000000000',
  'a=10000000000000.0',
  'a=--1',
  'a="x',
  'a="\\x"',
  'a="ü"',
  'a=?2',
  'a=(1',
  'a=1 2',
  'a=60, &&&&&',
  'a=;b',
  'a;B',
]

for (const text of SPOILED) {
  test(`${text} is no dictionary, not even in part`, () => assert.equal(readDictionary(text), undefined))
}
