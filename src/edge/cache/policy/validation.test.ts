import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answerFrom,
  type ConditionalResult,
  compareHead,
  conditionsFor,
  freshen,
  isAbout,
  notModifiedHeaders,
} from './validation.ts'

const DATE = 'Wed, 01 Jul 2026 12:00:00 GMT'
const OLD = 'Wed, 01 Jul 2026 11:00:00 GMT'
const OLDER = 'Wed, 01 Jul 2026 10:00:00 GMT'
const OLD_850 = 'Wednesday, 01-Jul-26 11:00:00 GMT'

test('the app is asked with the validators that it gave, letter by letter', () => {
  const asked = conditionsFor(['etag', 'W/"a"', 'Last-Modified', OLD_850])
  assert.deepEqual(asked, ['If-None-Match', 'W/"a"', 'If-Modified-Since', OLD_850])
  assert.deepEqual(conditionsFor(['ETag', '"a"']), ['If-None-Match', '"a"'])
  assert.deepEqual(conditionsFor(['Last-Modified', OLD]), ['If-Modified-Since', OLD])
})

test('the app is not asked where there is no validator, or one that is no date', () => {
  assert.deepEqual(conditionsFor(['Date', DATE]), [])
  assert.deepEqual(conditionsFor(['Last-Modified', 'yesterday']), [])
})

const ABOUT: [what: string, stored: string[], received: string[], isIt: boolean][] = [
  ['the same strong tag', ['ETag', '"a"'], ['ETag', '"a"'], true],
  ['another strong tag', ['ETag', '"a"'], ['ETag', '"b"'], false],
  ['a strong tag where a weak one is stored', ['ETag', 'W/"a"'], ['ETag', '"a"'], false],
  ['the same weak tag', ['ETag', 'W/"a"'], ['ETag', 'W/"a"'], true],
  ['a weak tag where a strong one is stored', ['ETag', '"a"'], ['ETag', 'W/"a"'], true],
  ['another weak tag', ['ETag', 'W/"a"'], ['ETag', 'W/"b"'], false],
  ['the same date', ['Last-Modified', OLD], ['Last-Modified', OLD_850], true],
  ['another date', ['Last-Modified', OLD], ['Last-Modified', OLDER], false],
  [
    'the same tag and another date',
    ['ETag', '"a"', 'Last-Modified', OLD],
    ['ETag', '"a"', 'Last-Modified', OLDER],
    true,
  ],
  [
    'another tag and the same date',
    ['ETag', '"a"', 'Last-Modified', OLD],
    ['ETag', '"b"', 'Last-Modified', OLD],
    false,
  ],
  ['a tag where only a date is stored, the same', ['Last-Modified', OLD], ['ETag', '"a"', 'Last-Modified', OLD], true],
  ['a tag where only a date is stored', ['Last-Modified', OLD], ['ETag', '"a"'], false],
  ['a date where only a tag is stored', ['ETag', '"a"'], ['Last-Modified', OLD], false],
  ['no validator', ['ETag', '"a"', 'Last-Modified', OLD], ['Date', DATE], true],
]

for (const [what, stored, received, isIt] of ABOUT) {
  test(`a 304 with ${what} is ${isIt ? '' : 'not '}about what is stored`, () => {
    assert.equal(isAbout(stored, received), isIt)
  })
}

test('a 304 replaces the fields that it has, with all their lines, and keeps the rest', () => {
  const stored = ['Link', '1', 'A', '1', 'link', '2', 'Cache-Control', 'max-age=1', 'Content-Type', 'a/b']
  const received = ['LINK', '3', 'cache-control', 'max-age=2', 'Content-Type', 'c/d', 'New', '1', 'New', '2']
  assert.deepEqual(freshen(stored, received), [
    ...['A', '1', 'LINK', '3', 'cache-control', 'max-age=2', 'Content-Type', 'c/d', 'New', '1', 'New', '2'],
  ])
})

test('a 304 says nothing about the bytes, nor about a tag that is there', () => {
  const stored = [
    'ETag',
    '"a"',
    'Content-Length',
    '5',
    'Content-Encoding',
    'br',
    'Content-MD5',
    'x',
    'Content-Range',
    'y',
  ]
  const received = [
    ...['ETag', 'W/"a"', 'Content-Length', '0', 'Content-Encoding', 'gzip', 'Content-MD5', 'z', 'Content-Range', 'z'],
    ...['Content-Digest', 'z', 'Repr-Digest', 'z', 'Digest', 'z'],
  ]
  assert.deepEqual(freshen(stored, received), stored)
  assert.deepEqual(freshen([], received), ['ETag', 'W/"a"'])
})

test('fields about the connection of a 304 are not taken, nor do they take others away', () => {
  const received = [
    'Connection',
    'A, close',
    'A',
    '2',
    'Keep-Alive',
    'x',
    'Transfer-Encoding',
    'chunked',
    'Upgrade',
    'x',
  ]
  assert.deepEqual(freshen(['A', '1', 'B', '1'], received), ['A', '1', 'B', '1'])
})

test('fields about the moment of the stored response are removed, whether the 304 replaces them or not', () => {
  const stored = ['Date', OLD, 'Age', '5', 'X-Nextjs-Cache', 'STALE', 'A', '1']
  assert.deepEqual(freshen(stored, []), ['A', '1'])
  assert.deepEqual(freshen(stored, ['Date', DATE, 'x-nextjs-cache', 'HIT']), [
    'A',
    '1',
    'Date',
    DATE,
    'x-nextjs-cache',
    'HIT',
  ])
})

test('neither list is changed by freshening', () => {
  const stored = Object.freeze(['A', '1', 'B', '1'])
  const received = Object.freeze(['A', '2'])
  assert.deepEqual(freshen(stored, received), ['B', '1', 'A', '2'])
})

const STORED = ['ETag', '"a"', 'Last-Modified', OLD, 'Date', DATE]
const whole: ConditionalResult = { kind: 'whole' }
const notModified: ConditionalResult = { kind: 'not-modified' }
const unsatisfiable: ConditionalResult = { kind: 'unsatisfiable' }
const part = (start: number, end: number): ConditionalResult => ({ kind: 'part', start, end })

type Request = Record<string, string>
const ANSWERS: [what: string, stored: string[], request: Request, ConditionalResult][] = [
  ['no conditions', STORED, {}, whole],
  ['its tag', STORED, { 'if-none-match': '"a"' }, notModified],
  ['its tag among others', STORED, { 'if-none-match': '"b", W/"a" ,"c"' }, notModified],
  ['another tag', STORED, { 'if-none-match': '"b"' }, whole],
  ['any tag', STORED, { 'if-none-match': ' * ' }, notModified],
  ['any tag where there is none', [], { 'if-none-match': '*' }, notModified],
  ['a tag where there is none', ['Last-Modified', OLD], { 'if-none-match': '"a"' }, whole],
  ['a tag that is a part of its tag', ['ETag', '"abc"'], { 'if-none-match': '"b"' }, whole],
  ['a tag with a comma in it', ['ETag', '"a,b"'], { 'if-none-match': '"x", "a,b"' }, notModified],
  ['a weak tag', ['ETag', 'W/"a"'], { 'if-none-match': '"a"' }, notModified],
  ['a tag without quotes', ['ETag', 'abc'], { 'if-none-match': 'abc' }, notModified],
  ['a tag with other letters than ASCII', ['ETag', '"\xfc"'], { 'if-none-match': '"\xfc"' }, notModified],
  ['the same date', STORED, { 'if-modified-since': OLD }, notModified],
  ['the same date in another format', STORED, { 'if-modified-since': OLD_850 }, notModified],
  ['a later date', STORED, { 'if-modified-since': DATE }, notModified],
  ['an earlier date', STORED, { 'if-modified-since': OLDER }, whole],
  ['no date', STORED, { 'if-modified-since': 'yesterday' }, whole],
  ['another tag beside the same date', STORED, { 'if-none-match': '"b"', 'if-modified-since': OLD }, whole],
  ['its tag beside an earlier date', STORED, { 'if-none-match': '"a"', 'if-modified-since': OLDER }, notModified],
  ['a date after that of the response', ['Date', OLD], { 'if-modified-since': DATE }, notModified],
  ['a date before that of the response', ['Date', OLD], { 'if-modified-since': OLDER }, whole],
  ['conditions for origin servers', STORED, { 'if-match': '"b"', 'if-unmodified-since': OLDER }, whole],

  ['a part', STORED, { range: 'bytes=2-4' }, part(2, 4)],
  ['a part up to the end', STORED, { range: 'bytes=2-' }, part(2, 9)],
  ['a part beyond the end', STORED, { range: 'bytes=2-99' }, part(2, 9)],
  ['the last bytes', STORED, { range: 'bytes=-3' }, part(7, 9)],
  ['more last bytes than there are', STORED, { range: 'bytes=-99' }, part(0, 9)],
  ['a part behind the end', STORED, { range: 'bytes=10-' }, unsatisfiable],
  ['no last bytes', STORED, { range: 'bytes=-0' }, unsatisfiable],
  ['several parts', STORED, { range: 'bytes=0-1,3-4' }, whole],
  ['another unit', STORED, { range: 'lines=0-1' }, whole],
  ['a part the wrong way round', STORED, { range: 'bytes=4-2' }, whole],
  ['a part of what it has', STORED, { range: 'bytes=2-4', 'if-none-match': '"a"' }, notModified],
  ['a part of what it has not', STORED, { range: 'bytes=2-4', 'if-none-match': '"b"' }, part(2, 4)],
  ['a part of this one', STORED, { range: 'bytes=2-4', 'if-range': '"a"' }, part(2, 4)],
  ['a part of another one', STORED, { range: 'bytes=2-4', 'if-range': '"b"' }, whole],
  ['a part by a weak tag', ['ETag', 'W/"a"'], { range: 'bytes=2-4', 'if-range': 'W/"a"' }, whole],
  ['a part by a weak tag of a strong one', STORED, { range: 'bytes=2-4', 'if-range': 'W/"a"' }, whole],
  ['a part by date', STORED, { range: 'bytes=2-4', 'if-range': OLD }, part(2, 4)],
  ['a part by another date', STORED, { range: 'bytes=2-4', 'if-range': DATE }, whole],
  ['a part by no date', STORED, { range: 'bytes=2-4', 'if-range': 'x' }, whole],
  [
    'a part by the date of a response that had just changed',
    ['Last-Modified', DATE, 'Date', DATE],
    { range: 'bytes=2-4', 'if-range': DATE },
    whole,
  ],
]

for (const [what, headers, request, answer] of ANSWERS) {
  test(`a client that asks with ${what}: ${answer.kind}`, () => {
    assert.deepEqual(answerFrom({ status: 200, headers, size: 10 }, { method: 'GET', headers: request }), answer)
  })
}

test('conditions and ranges are for successes, and ranges for GET alone', () => {
  const request = { 'if-none-match': '"a"', range: 'bytes=0-1' }
  assert.deepEqual(answerFrom({ status: 404, headers: STORED, size: 10 }, { method: 'GET', headers: request }), whole)
  const head = (headers: Request) => answerFrom({ status: 200, headers: STORED, size: 10 }, { method: 'HEAD', headers })
  assert.deepEqual(head({ range: 'bytes=0-1' }), whole)
  assert.deepEqual(head(request), notModified)
})

test('there is no part of an empty response', () => {
  const empty = { status: 200, headers: STORED, size: 0 }
  assert.deepEqual(answerFrom(empty, { method: 'GET', headers: { range: 'bytes=0-' } }), unsatisfiable)
})

test('a 304 has what freshens a copy, and nothing that describes it', () => {
  const fresh = [
    ...['Cache-Control', 'max-age=60', 'Content-Location', '/a', 'Date', DATE, 'ETag', '"a"', 'Expires', DATE],
    ...['Vary', 'Foo', 'Content-Security-Policy', 'x', 'Access-Control-Allow-Origin', '*'],
  ]
  const described = [
    ...['Content-Type', 'a', 'Content-Length', '1', 'Content-Encoding', 'br', 'Content-Language', 'de'],
    ...['Last-Modified', OLD, 'Accept-Ranges', 'bytes', 'Content-Range', 'a', 'Age', '1', 'Cache-Status', 'a'],
  ]
  assert.deepEqual(notModifiedHeaders([...described, ...fresh]), fresh)
})

test('a 304 has the date of the last change where there is no tag', () => {
  assert.deepEqual(notModifiedHeaders(['Last-Modified', OLD, 'Content-Type', 'a']), ['Last-Modified', OLD])
})

const HEADS: [what: string, head: string[], outcome: string][] = [
  ['the same tag', ['ETag', '"a"'], 'freshen'],
  ['the same tag, weakly', ['ETag', 'W/"a"'], 'freshen'],
  ['the same tag and length', ['ETag', '"a"', 'Content-Length', '10'], 'freshen'],
  ['the same tag and another length', ['ETag', '"a"', 'Content-Length', '11'], 'invalidate'],
  ['another tag', ['ETag', '"b"', 'Last-Modified', OLD], 'invalidate'],
  ['the same date', ['Last-Modified', OLD_850], 'freshen'],
  ['another date', ['Last-Modified', DATE], 'invalidate'],
  ['the same length alone', ['Content-Length', '10'], 'nothing'],
  ['another length alone', ['Content-Length', '11'], 'invalidate'],
  ['nothing to compare', ['Cache-Control', 'max-age=60'], 'nothing'],
]

for (const [what, head, outcome] of HEADS) {
  test(`a response to HEAD with ${what}: ${outcome}`, () => assert.equal(compareHead(STORED, 10, head), outcome))
}

test('a response to HEAD with a tag says that one without is not the current one', () => {
  assert.equal(compareHead(['Last-Modified', OLD], 10, ['ETag', '"a"']), 'invalidate')
})
