import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser, type StreamEvent } from './event-stream.ts'

function read(...pieces: string[]): StreamEvent[] {
  const events: StreamEvent[] = []
  const parse = createParser((event) => events.push(event))
  for (const piece of pieces) parse(piece)
  return events
}

test('an event may come in pieces', () => {
  const whole = ': open\n\nid: 7\nevent: change\ndata: {"name":"a"}\n\n'
  const expected = [{ event: 'change', data: '{"name":"a"}', id: '7' }]
  for (let cut = 0; cut <= whole.length; cut++) assert.deepEqual(read(whole.slice(0, cut), whole.slice(cut)), expected)
})

test('lines of data are joined, comments and events without data are skipped', () => {
  assert.deepEqual(read('data: a\ndata: b\n\n: quiet\n\nevent: x\n\n'), [{ event: 'message', data: 'a\nb', id: '' }])
})

test('every kind of line end is one', () => {
  assert.deepEqual(
    read('data: a\r\n\r\ndata: b\r', '\n\r\ndata: c\n\n').map(({ data }) => data),
    ['a', 'b', 'c'],
  )
})
