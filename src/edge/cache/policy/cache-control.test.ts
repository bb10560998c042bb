import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsNamedBy, policyOf, readCacheControl, seconds } from './cache-control.ts'

const DIRECTIVES: [what: string, value: string | undefined, read: Record<string, string | true>][] = [
  ['nothing', undefined, {}],
  ['an empty field', '', {}],
  ['names in any case, values as they are', 'Max-Age=60, FOO=Bar', { 'max-age': '60', foo: 'Bar' }],
  ['empty members', ',, no-store ,', { 'no-store': true }],
  ['a quoted value', 'max-age="60"', { 'max-age': '60' }],
  ['escapes in a quoted value', 'a="x\\"y\\\\z"', { a: 'x"y\\z' }],
  [
    'a directive inside a quoted value is none',
    'extension="a, max-age=60", b',
    { extension: 'a, max-age=60', b: true },
  ],
  ['the first of two', 'max-age=1, max-age=60', { 'max-age': '1' }],
  ['a space before the sign', 'max-age =60', { 'max-age': true }],
  ['a space behind the sign', 'max-age= 60', { 'max-age': true }],
  ['semicolons in place of commas', 'no-store; max-age=60', { 'no-store': true }],
  ['what has no name', '=1, "x", no-store', { 'no-store': true }],
  [
    'a quote that is never closed hides nothing',
    'a="x, no-store, private',
    { a: true, 'no-store': true, private: true },
  ],
  ['an escape at the end', 'a="x\\', { a: true }],
  ['fields that it is about', 'no-cache="A, b"', { 'no-cache': 'A, b' }],
  ['a field without quotes', 'private=a', { private: 'a' }],
  ['fields in two directives', 'no-cache="a", no-cache="b"', { 'no-cache': 'a, b' }],
  ['no fields win over some', 'no-cache="a", no-cache', { 'no-cache': true }],
  ['no fields win over some, in this order too', 'private, private="a"', { private: true }],
  ['an empty list of fields is none', 'private=""', { private: true }],
  ['a badly written list of fields is none', 'no-cache; a="b"', { 'no-cache': true }],
]

for (const [what, value, read] of DIRECTIVES) {
  test(`Cache-Control is read: ${what}`, () => assert.deepEqual(Object.fromEntries(readCacheControl(value)), read))
}

const SECONDS: [value: string, read: number | undefined][] = [
  ['b=1', undefined],
  ['a=0', 0],
  ['a=60', 60],
  ['a="60"', 60],
  ['a=003600', 3600],
  ['a=2147483647', 2147483647],
  ['a=2147483649', 2147483648],
  ['a=99999999999999999999999', 2147483648],
  ['a', 0],
  ['a=-60', 0],
  ['a=60.5', 0],
  ['a=60a', 0],
  ['a=a60', 0],
  ["a='60'", 0],
  ['a=1e3', 0],
  ['a=0x10', 0],
  ['a =60', 0],
]

for (const [value, read] of SECONDS) {
  test(`the seconds of ${value} are ${read}`, () => assert.equal(seconds(readCacheControl(value), 'a'), read))
}

test('the fields that a directive names are in lower case, and none where it is about all or absent', () => {
  assert.deepEqual(fieldsNamedBy(readCacheControl('no-cache="A, b"'), 'no-cache'), ['a', 'b'])
  assert.deepEqual(fieldsNamedBy(readCacheControl('no-cache'), 'no-cache'), [])
  assert.deepEqual(fieldsNamedBy(readCacheControl('public'), 'private'), [])
})

test('a field that never ends well is read in a time that grows with its length only', () => {
  const begun = process.cpuUsage()
  readCacheControl('"\\",'.repeat(100_000))
  readCacheControl(`a="${'\\"'.repeat(100_000)}`)
  policyOf(['cdn-cache-control', `a="${'\\"'.repeat(100_000)}`])
  const { user } = process.cpuUsage(begun)
  assert.ok(user < 2_000_000, `${user} µs`)
})

const TARGETED: [what: string, value: string, read: Record<string, string | true> | undefined][] = [
  ['seconds', 'max-age=60, foobar', { 'max-age': '60', foobar: true }],
  ['many seconds', 'max-age=99999999999', { 'max-age': '99999999999' }],
  ['parameters are left out', 'max-age=60;x=1', { 'max-age': '60' }],
  ['the last of two', 'max-age=1, max-age=60', { 'max-age': '60' }],
  ['fields that it is about', 'private="a, b"', { private: 'a, b' }],
  ['a directive with the value false', 'no-store=?0, max-age=1', { 'max-age': '1' }],
  ['unknown words stand for the others, too', 'none', { none: true }],
  ['an empty field is ignored', '', undefined],
  ['a syntax error spoils all', 'max-age=60, &&&&&', undefined],
  ['seconds must be an integer', 'max-age="60"', undefined],
  ['seconds must not have fractions', 'max-age=60.0', undefined],
  ['seconds must not be below zero', 's-maxage=-1', undefined],
  ['a window must be an integer', 'max-age=60, stale-while-revalidate', undefined],
  ['capitals are a syntax error', 'MaX-aGe=60', undefined],
  ['a space before the sign is a syntax error', 'max-age =60', undefined],
]

for (const [what, value, read] of TARGETED) {
  test(`CDN-Cache-Control wins where it is valid: ${what}`, () => {
    const { field, directives } = policyOf(['Cache-Control', 'no-store', 'CDN-Cache-Control', value])
    assert.equal(field, read ? 'cdn-cache-control' : 'cache-control')
    assert.deepEqual(Object.fromEntries(directives), read ?? { 'no-store': true })
  })
}
