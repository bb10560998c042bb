import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveText, markIn, startText } from './log-marks.ts'
import { isIdTail, shortId } from './short-id.ts'

const ID = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'

test('an id is shown by its end, also where a whole name is given', () => {
  assert.equal(shortId(ID), '3e4f5a6b')
  assert.equal(shortId(`accounts/a/apps/b/environments/c/builds/${ID}`), '3e4f5a6b')
  assert.equal(shortId('accounts/a/builds/no_build'), 'no_build')
  assert.ok(isIdTail(shortId(ID)))
  for (const wrong of ['4f5a6b', 'previous', '3E4F5A6B', `${ID}0`, '../builds']) assert.ok(!isIdTail(wrong), wrong)
})

test('a mark is read from the text that the service writes, and from no other stream', () => {
  const ids = { deployment: '3e4f5a6b', build: '3e4f5a6b' }
  const of = (phase: string, text: string, stream = 'service') => markIn({ stream, phase, text })
  assert.deepEqual(of('START', startText(ID, ID)), { mark: 'START', ...ids })
  assert.deepEqual(of('LIVE', liveText(ID, ID)), { mark: 'LIVE', ...ids })
  assert.deepEqual(of('ENDED', 'The app ended by itself (exit code 7).'), { mark: 'ENDED' })
  for (const stream of ['stdout', 'stderr']) assert.equal(of('LIVE', liveText(ID, ID), stream), undefined)
  assert.equal(of('', liveText(ID, ID)), undefined)
  assert.equal(of('START', '12 lines came too fast for the disk and were left out.'), undefined)
})
