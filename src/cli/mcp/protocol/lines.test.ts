import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Line, linesOf } from './lines.ts'

async function linesIn(chunks: (string | Buffer)[], maxBytes = 10): Promise<Line[]> {
  async function* input() {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  const found: Line[] = []
  for await (const line of linesOf(input(), maxBytes)) found.push(line)
  return found
}

test('lines are found wherever the stream is cut, also inside of a character', async () => {
  const bytes = Buffer.from('äb\n\ncd\n')
  for (let cut = 0; cut <= bytes.length; cut++) {
    const lines = await linesIn([bytes.subarray(0, cut), bytes.subarray(cut)])
    assert.deepEqual(lines, [{ text: 'äb' }, { text: '' }, { text: 'cd' }])
  }
})

test('a line that is too long is told as such, and the next one is whole', async () => {
  const long = 'x'.repeat(11)
  assert.deepEqual(await linesIn([`${long}\nnext\n`]), [{ isTooLong: true }, { text: 'next' }])
  assert.deepEqual(await linesIn([...long, '\n', 'next\n']), [{ isTooLong: true }, { text: 'next' }])
  assert.deepEqual(await linesIn(['x'.repeat(10), '\n']), [{ text: 'x'.repeat(10) }])
})

test('what does not end with a line feed is no line', async () => {
  assert.deepEqual(await linesIn(['a\n', 'b']), [{ text: 'a' }])
})
