import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { outputIn, type TaskOutput } from './log-frames.ts'

const TIME = '2026-01-02T03:04:05.000000006Z'

function frame(stream: number, content: string, length = Buffer.byteLength(content)): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
  header.writeUInt32BE(length, 4)
  return Buffer.concat([header, Buffer.from(content)])
}

async function* from(chunks: readonly Buffer[]) {
  yield* chunks
}

const read = (...chunks: Buffer[]): Promise<TaskOutput[]> => Array.fromAsync(outputIn(from(chunks)))

test('frames are the same wherever they are cut', async () => {
  const lines = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.string({ unit: 'grapheme' })), { maxLength: 5 })
  await holds(
    fc.asyncProperty(lines, fc.array(fc.nat(400), { maxLength: 6 }), async (given, places) => {
      const bytes = Buffer.concat(given.map(([stream, text]) => frame(stream, `${TIME} ${text}`)))
      const cuts = [0, ...places.filter((place) => place < bytes.length).sort((a, b) => a - b)]
      const found = await read(...cuts.map((cut, at) => bytes.subarray(cut, cuts[at + 1])))
      assert.deepEqual(
        found.map(({ stream, time, bytes }) => [stream, time, bytes.toString()]),
        given.map(([stream, text]) => [stream === 1 ? 'stdout' : 'stderr', TIME, text]),
      )
    }),
    200,
  )
})

const REFUSED: Record<string, [Buffer, RegExp]> = {
  'a frame that is far too long': [frame(1, '', 2 ** 31), /a frame of output has 2147483648 bytes/],
  'a frame of an unknown stream': [frame(7, `${TIME} x`), /of stream 7/],
  'a line without a time, as an error of Docker is': [frame(2, 'Error grabbing logs: node is down\n'), /has no time/],
  'a time that is no time': [frame(1, `${'9'.repeat(30)} x`), /has no time/],
}

for (const [what, [bytes, message]] of Object.entries(REFUSED)) {
  test(`output with ${what} is refused`, async () => {
    await assert.rejects(read(bytes), message)
  })
}

test('a frame that is cut off at the end is left out', async () => {
  const whole = frame(1, `${TIME} one`)
  assert.equal((await read(whole, whole.subarray(0, whole.length - 1))).length, 1)
})
