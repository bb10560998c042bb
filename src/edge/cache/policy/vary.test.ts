import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeAcceptEncoding, readVariant, variantOf } from './vary.ts'

type Headers = Record<string, string | string[]>

const SAME: [what: string, vary: string[], one: Headers, other: Headers][] = [
  ['the same value', ['foo'], { foo: '1' }, { foo: '1' }],
  ['other headers', ['foo'], { foo: '1', other: '2' }, { foo: '1', other: '3' }],
  ['both without it', ['bar', 'foo'], { foo: '1' }, { foo: '1' }],
  ['white space in lists', ['foo'], { foo: '1,2' }, { foo: ' 1, 2 ' }],
  ['one line or two', ['foo'], { foo: '1, 2' }, { foo: ['1', '2'] }],
  ['languages in another case', ['accept-language'], { 'accept-language': 'en, de' }, { 'accept-language': 'eN,De' }],
  ['languages in another order', ['accept-language'], { 'accept-language': 'en, de' }, { 'accept-language': 'de,en' }],
  [
    'weights written otherwise',
    ['accept-language'],
    { 'accept-language': 'en;q=1.0, de; q=0.50' },
    { 'accept-language': 'de;q=0.5,en' },
  ],
  [
    'encodings that are not produced',
    ['accept-encoding'],
    { 'accept-encoding': 'gzip, deflate, br, zstd' },
    { 'accept-encoding': 'br;q=0.9, gzip' },
  ],
  ['no encodings and an empty list of them', ['accept-encoding'], {}, { 'accept-encoding': '' }],
  [
    'encodings beside others',
    ['accept-encoding', 'foo'],
    { 'accept-encoding': 'gzip' },
    { 'accept-encoding': 'x-gzip' },
  ],
]

for (const [what, vary, one, other] of SAME) {
  test(`one variant: ${what}`, () => assert.equal(variantOf(vary, one), variantOf(vary, other)))
}

const DIFFERENT: [what: string, vary: string[], one: Headers, other: Headers][] = [
  ['a byte that only JavaScript takes for a blank', ['foo'], { foo: 'a' }, { foo: '\u00a0a' }],
  ['such a byte in a list', ['foo'], { foo: 'a, b' }, { foo: 'a, \u00a0b' }],
  [
    'such a byte before a language',
    ['accept-language'],
    { 'accept-language': 'en' },
    { 'accept-language': '\u00a0en' },
  ],
  [
    'such a byte before a weight',
    ['accept-language'],
    { 'accept-language': 'en;q=0.5' },
    { 'accept-language': 'en;\u00a0q=0.5' },
  ],
  [
    'bytes that are one letter in two cases to Latin-1 only',
    ['accept-language'],
    { 'accept-language': '\u00c0' },
    { 'accept-language': '\u00e0' },
  ],
  ['another value', ['foo'], { foo: '1' }, { foo: '2' }],
  ['another case', ['foo'], { foo: 'a' }, { foo: 'A' }],
  ['another order', ['foo'], { foo: '1, 2' }, { foo: '2, 1' }],
  ['absent and empty', ['foo'], {}, { foo: '' }],
  ['absent and the word for it', ['foo'], {}, { foo: 'null' }],
  ['a value in the next header', ['bar', 'foo'], { bar: '1' }, { foo: '1' }],
  ['a value that looks like absence', ['bar', 'foo'], { bar: ':' }, { foo: ':' }],
  ['a value that looks like two', ['bar', 'foo'], { bar: '1","foo","2' }, { bar: '1', foo: '2' }],
  ['white space inside quotes', ['foo'], { foo: '"1, 2"' }, { foo: '"1,2"' }],
  ['white space in cookies', ['cookie'], { cookie: 'a=1, 2' }, { cookie: 'a=1,2' }],
  ['other weights', ['accept-language'], { 'accept-language': 'en, de;q=0.5' }, { 'accept-language': 'de,en;q=0.5' }],
  ['another language', ['accept-language'], { 'accept-language': 'en' }, { 'accept-language': 'en-GB' }],
  ['no encodings and one', ['accept-encoding'], {}, { 'accept-encoding': 'gzip' }],
]

for (const [what, vary, one, other] of DIFFERENT) {
  test(`two variants: ${what}`, () => assert.notEqual(variantOf(vary, one), variantOf(vary, other)))
}

test('variants by different headers are different, whatever the values', () => {
  assert.notEqual(variantOf(['foo'], { foo: '1' }), variantOf(['bar'], { bar: '1' }))
  assert.notEqual(variantOf(['accept-encoding'], {}), variantOf(['accept-encoding', 'foo'], {}))
})

test('a variant can be displayed', () => {
  const variant = variantOf(['accept-encoding', 'foo', 'rsc', 'x'], { 'accept-encoding': 'gzip', rsc: ' 1', x: '' })
  assert.deepEqual(readVariant(variant), { 'accept-encoding': 'gzip', rsc: '1', x: '' })
  assert.deepEqual(readVariant(''), {})
})

const ENCODINGS: [accept: string | undefined, normalized: string][] = [
  [undefined, 'identity'],
  ['', 'identity'],
  ['identity', 'identity'],
  ['deflate, zstd', 'identity'],
  ['gzip', 'gzip'],
  ['gzip, deflate', 'gzip'],
  ['GZip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br', 'br, gzip'],
  ['gzip, deflate, br, zstd', 'br, gzip'],
  ['br,gzip', 'br, gzip'],
  ['*', 'br, gzip'],
  ['*;q=0', 'identity'],
  ['gzip, *;q=0', 'gzip'],
  ['br;q=0, *', 'gzip'],
  ['gzip;q=0', 'identity'],
  ['gzip;q=0.000, br', 'br'],
  ['gzip ; q=0.001', 'gzip'],
  ['gzip;q=nonsense', 'identity'],
  ['gzip;q=-1', 'identity'],
  ['gzip;q=', 'identity'],
  ['identity;q=0, gzip;q=1.0', 'gzip'],
  ['identity;q=0', 'identity'],
]

for (const [accept, normalized] of ENCODINGS) {
  test(`Accept-Encoding: ${accept ?? 'none'} is ${normalized}`, () => {
    assert.equal(normalizeAcceptEncoding(accept), normalized)
    assert.equal(normalizeAcceptEncoding(normalized), normalized)
  })
}
