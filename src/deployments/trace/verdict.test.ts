import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, at, build, facts, holding, live, stored } from '../../../test/support/modules/trace.ts'
import { toFailure } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import { compare } from './facts.ts'
import { verdictOf } from './verdict.ts'

test('if nothing is deployed, the verdict says so', () => {
  const nothing = { live: undefined, lastBuild: undefined, origin: { kind: 'NOTHING' } } as const
  assert.equal(verdictOf(facts(nothing)), 'Nothing is deployed to this environment yet.')
})

test('for files the verdict names the file, and since when it is live', () => {
  const origin = { kind: 'FILE', status: 200, file: '/index.html', bytes: 9, digest: 'd' } as const
  assert.equal(
    verdictOf(facts({ origin })),
    'Visitors get the file /index.html of the deployment that went live 60 min ago.',
  )
  assert.match(verdictOf(facts({ origin: { ...origin, status: 404, file: '/404.html' } })), /no file .* status 404\.$/)
  assert.match(verdictOf(facts({ origin: { kind: 'MISSING', status: 404 } })), /no file for this address .* 404\.$/)
  assert.match(
    verdictOf(facts({ origin: { kind: 'REDIRECT', status: 301, location: '/about/' } })),
    /^Visitors are sent on to \/about\/,/,
  )
})

test('a fresh copy that differs from what the app answers is named with the header that keeps it', () => {
  assert.equal(
    verdictOf(facts({ ...holding(stored()), origin: answer({ etag: '"two"' }) })),
    'Visitors get a copy that the edge stored 30 s ago, while the app answers something else by now: the copy is used for another 30 s (cache-control: s-maxage=60), unless it is purged.',
  )
})

test('a copy that is the same as what the app answers is called the same', () => {
  assert.equal(
    verdictOf(facts(holding(stored()))),
    'Visitors get a copy that the edge stored 30 s ago, and the app answers the same now.',
  )
})

test('a stale copy is called stale', () => {
  const stale = holding(stored({ isFresh: false, ageSeconds: 90 }))
  assert.match(verdictOf(facts(stale)), /stale by now; the app answers the same/)
  assert.match(verdictOf(facts({ ...stale, origin: answer({ etag: '"two"' }) })), /one of the next visits replaces/)
})

test('of several variants the one that differs is explained', () => {
  const variants = holding(stored(), stored({ etag: '"old"' }), stored({ etag: null }))
  assert.match(verdictOf(facts(variants)), /while the app answers something else/)
})

test('a copy of a deployment that is not live is not what visitors get', () => {
  assert.match(verdictOf(facts(holding(stored({ deployment: 'deployment 0' })))), /^Nothing is stored/)
})

test('an app that sleeps is not asked, and what is stored is still explained', () => {
  const origin = { kind: 'SILENT', why: 'sleeps until the next visitor' } as const
  assert.equal(
    verdictOf(facts({ origin })),
    'Nothing is stored for this address, and the app sleeps until the next visitor.',
  )
  assert.match(verdictOf(facts({ ...holding(stored()), origin })), /^Visitors get a copy .* as the app sleeps/)
})

test('an edge that does not answer is not taken for one that has nothing', () => {
  assert.match(verdictOf(facts({ inspection: undefined })), /^The edge does not answer at the moment/)
})

const NOT_STORED: [string, Parameters<typeof answer>[0], RegExp][] = [
  ['sets a cookie', { setsCookie: true }, /since its answer sets a cookie\.$/],
  ['is private', { cacheControl: 'private, max-age=60' }, /since it says cache-control: private, max-age=60\.$/],
  ['may not be kept', { cacheControl: 'public, max-age=0' }, /since it says cache-control: public, max-age=0\.$/],
  ['says nothing of it', { cacheControl: undefined }, /does not say how long it may be kept\.$/],
  ['varies by everything', { vary: 'accept, *' }, /since it says vary: \*\.$/],
  [
    'may be kept',
    { cacheControl: 's-maxage=600' },
    /until one of its answers is stored \(cache-control: s-maxage=600\)\.$/,
  ],
]

for (const [what, given, expected] of NOT_STORED) {
  test(`if nothing is stored of an app whose response ${what}, the reason is named`, () => {
    assert.match(verdictOf(facts({ origin: answer(given) })), expected)
  })
}

const failure = toFailure(new Problem('BUILD_SCRIPT_FAILED'), 1, [])
const LAST_BUILDS: [Parameters<typeof build>[1], RegExp | undefined][] = [
  [{ state: 'FAILED', failure, finishTime: at(3300) }, /; the last build failed 5 min ago \(BUILD_SCRIPT_FAILED\), so/],
  [{ state: 'RUNNING', phase: 'INSTALLING', finishTime: null }, /; a newer build is under way \(INSTALLING\)\.$/],
  [{ state: 'QUEUED', finishTime: null }, /; a newer build waits\.$/],
  [{ state: 'CANCELLED', finishTime: at(3590) }, /; the last build was cancelled 10 s ago\.$/],
  [{ isUnchanged: true, finishTime: at(3590) }, /; the last build, 10 s ago, left the same output, so nothing was/],
  [{}, /; an older deployment was made live again after the last build\.$/],
]

for (const [given, expected = /./] of LAST_BUILDS) {
  const { state = 'SUCCEEDED', isUnchanged = false } = given ?? {}
  test(`a last build that is ${state}${isUnchanged ? ' and changed nothing' : ''}, and not the live one, is mentioned`, () => {
    assert.match(verdictOf(facts({ lastBuild: build('build 2', given) })), expected)
  })
}

test('a last build that is live is not mentioned twice', () => {
  assert.doesNotMatch(verdictOf(facts({ live: live(), lastBuild: build('build 1') })), /the last build/)
})

test('bodies decide whether two answers are the same, then ETags, then times that differ', () => {
  const none = { etag: null, lastModified: null }
  const cases: [ReturnType<typeof stored>, ReturnType<typeof answer>, string][] = [
    [stored({ digest: 'a'.repeat(16) }), answer({ etag: '"two"' }), 'SAME'],
    [stored({ digest: 'b'.repeat(16) }), answer(), 'DIFFERENT'],
    [stored({ digest: 'b'.repeat(16) }), answer({ body: undefined }), 'SAME'],
    [stored({ etag: 'W/"one"' }), answer(), 'SAME'],
    [stored({ etag: '"old"' }), answer(), 'DIFFERENT'],
    [stored({ status: 404 }), answer(), 'DIFFERENT'],
    [stored(none), answer(), 'UNKNOWN'],
    [stored({ ...none, lastModified: 'Mon' }), answer({ lastModified: 'Mon' }), 'UNKNOWN'],
    [stored({ ...none, lastModified: 'Mon' }), answer({ lastModified: 'Tue' }), 'DIFFERENT'],
    [stored(), { kind: 'SILENT', why: 'sleeps' }, 'UNKNOWN'],
  ]
  assert.deepEqual(
    cases.map(([kept, origin]) => compare(kept, origin)),
    cases.map(([, , expected]) => expected),
  )
})
