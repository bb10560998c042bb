import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { untilOver } from './stream.ts'

type RouteCall = Parameters<typeof untilOver>[0]
type Parts = Parameters<typeof untilOver>[1]

function open(isGone: boolean, stopping = new AbortController().signal) {
  const raw = Object.assign(new EventEmitter(), { destroyed: isGone })
  const call = { request: {}, reply: { raw, header: () => undefined } } as unknown as RouteCall
  return { raw, signal: untilOver(call, { auth: {}, access: 'viewer', stopping } as unknown as Parts) }
}

test('a stream is over when its reader leaves', () => {
  const { raw, signal } = open(false)
  assert.equal(signal.aborted, false)
  raw.emit('close')
  assert.equal(signal.aborted, true)
})

test('a stream whose reader left before it began is over from the start, and looks at nothing any more', () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  assert.equal(open(true).signal.aborted, true)
  assert.equal(timers(), before)
})

test('a stream that begins while the service stops is over', () => {
  assert.equal(open(false, AbortSignal.abort()).signal.aborted, true)
})
