import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParts } from './parts.ts'

const text = async (source: AsyncIterable<Buffer>) => Buffer.concat(await Array.fromAsync(source)).toString()

test('a stream is read as a line, so many bytes and the rest, wherever its chunks end', async () => {
  const whole = Buffer.from('name 5\nfirstsecond')
  for (let size = 1; size <= whole.length; size++) {
    const parts = createParts(
      (async function* () {
        for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size)
      })(),
    )
    assert.equal(await parts.line(), 'name 5')
    assert.equal(await text(parts.next(5)), 'first')
    assert.equal(await text(parts.rest()), 'second')
    assert.equal(await parts.line(), undefined)
  }
})

test('a stream that ends early is refused, and one that is left is ended', async () => {
  let isEnded = false
  const parts = createParts(
    (async function* () {
      try {
        yield Buffer.from('a\nbc')
        yield Buffer.from('d'.repeat(2000))
        yield Buffer.from('not read')
      } finally {
        isEnded = true
      }
    })(),
  )
  assert.equal(await parts.line(), 'a')
  assert.equal(await text(parts.next(2)), 'bc')
  await assert.rejects(parts.line(), /no end/)
  await parts.close()
  assert.ok(isEnded)
  const short = createParts(
    (async function* () {
      yield Buffer.from('abc')
    })(),
  )
  await assert.rejects(text(short.next(4)), /1 bytes are missing/)
})
