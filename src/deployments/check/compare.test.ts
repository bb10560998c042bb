import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from './answer.ts'
import { compare } from './compare.ts'

const answer = (given: Partial<Answer> = {}): Answer => ({
  status: 200,
  contentType: 'text/html',
  location: undefined,
  bytes: 10_000,
  end: 'WHOLE',
  milliseconds: 5,
  problem: undefined,
  text: undefined,
  ...given,
})
const page = answer()
const silent = answer({ status: undefined, bytes: 0, end: 'BROKEN_OFF', problem: 'the app refused the connection' })
const status = (code: number) => answer({ status: code })
const to = (location: string, code = 302) => answer({ status: code, location, bytes: 0 })

const CASES: readonly [what: string, before: Answer | undefined, after: Answer, verdict: string][] = [
  ['the same page', page, page, 'SAME'],
  ['a server error', page, status(500), 'BROKEN'],
  ['no answer', page, silent, 'BROKEN'],
  ['a removed page', page, status(404), 'BROKEN'],
  ['a page that asks for a log-in now', page, status(401), 'BROKEN'],
  ['a page that sends visitors to a log-in now', page, to('/login?next=%2Fa'), 'BROKEN'],
  ['a page that moved', page, to('/b'), 'CHANGED'],
  ['a page that moved to another host', page, to('https://other.example/a'), 'CHANGED'],
  ['a page that redirects to itself', page, to('/a'), 'BROKEN'],
  ['another type', page, answer({ contentType: 'application/json' }), 'BROKEN'],
  ['XHTML for HTML', page, answer({ contentType: 'application/xhtml+xml' }), 'CHANGED'],
  ['an empty body', page, answer({ bytes: 0 }), 'BROKEN'],
  ['a far shorter body', page, answer({ bytes: 2000 }), 'BROKEN'],
  ['a body that is half as long', page, answer({ bytes: 5000 }), 'CHANGED'],
  ['a body that differs a little', page, answer({ bytes: 10_300 }), 'SAME'],
  ['a short body that gets shorter', answer({ bytes: 300 }), answer({ bytes: 30 }), 'SAME'],
  ['a body that does not end any more', page, answer({ end: 'TOO_SLOW' }), 'BROKEN'],
  ['a stream before and after', answer({ end: 'TOO_SLOW' }), answer({ end: 'TOO_SLOW', bytes: 1 }), 'SAME'],
  ['a body that is too long to read', answer({ end: 'TOO_LONG' }), answer({ end: 'TOO_LONG' }), 'SAME'],
  ['a redirect that stays', to('/b'), to('/b'), 'SAME'],
  ['a redirect to elsewhere', to('/b'), to('/c'), 'CHANGED'],
  ['a redirect that is a page now', to('/b'), page, 'CHANGED'],
  ['a redirect that ends in an error', to('/b'), status(500), 'BROKEN'],
  ['a log-in that stays', status(401), status(401), 'SAME'],
  ['a redirect to a log-in that stays', to('/login'), to('/login'), 'SAME'],
  ['a log-in that is not asked for any more', status(401), page, 'CHANGED'],
  ['a log-in that turned into an error', status(403), status(500), 'BROKEN'],
  ['a page that was missing before', status(404), status(404), 'FAILING'],
  ['a page that was broken before', status(500), status(502), 'FAILING'],
  ['a page that was missing and is an error now', status(404), status(500), 'FAILING'],
  ['a page that is repaired', status(500), page, 'CHANGED'],
  ['a page that the live version did not answer', silent, status(500), 'FAILING'],
  ['a new page', undefined, page, 'SAME'],
  ['a new page with an error', undefined, status(500), 'FAILING'],
]

for (const [what, before, after, verdict] of CASES) {
  test(`${what}: ${verdict}`, () => {
    const found = compare('/a', before, after)
    assert.equal(found.verdict, verdict)
    assert.equal(found.why !== undefined, verdict !== 'SAME')
  })
}
