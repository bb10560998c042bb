import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPlain } from '../../test/support/machine/engine.ts'
import { TIMEOUT_MS, until } from '../../test/support/until.ts'
import { type Job, type Output, runToEnd } from './engine.ts'

const WRITES = 100
const PIECE = 64 * 1024

/** Prints on stderr after each piece how many it has written. */
const FLOOD = `
  const fs = require('node:fs')
  const piece = Buffer.alloc(${PIECE}, 'x')
  for (let count = 1; count <= ${WRITES}; count++) {
    for (let at = 0; at < piece.length; ) at += fs.writeSync(1, piece, at)
    fs.writeSync(2, count + '\\n')
  }
`

test('a program whose output is not taken waits, and goes on when it is', async () => {
  const job: Job = {
    argv: [process.execPath, '-e', FLOOD],
    cwd: '/',
    environment: { PATH: process.env.PATH ?? '' },
    mounts: [],
    user: undefined,
  }
  const released = Promise.withResolvers<void>()
  let [bytes, written, maxWritten] = [0, 0, 0]
  const take: Output = (stream, chunk) => {
    if (stream === 'stderr') {
      written = Number(String(chunk).trim().split('\n').at(-1))
      return undefined
    }
    bytes += chunk.length
    return released.promise
  }
  const running = runToEnd(testPlain(), job, take, AbortSignal.timeout(TIMEOUT_MS))
  // The pipe and the stream in front of it hold a few pieces; after that nothing moves until a reader takes it.
  await until(() => written)
  for (let looks = 0; looks < 25; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    maxWritten = written
  }
  assert.ok(maxWritten < WRITES / 2, `${maxWritten} pieces were written, though none was taken`)
  released.resolve()
  assert.equal((await running).code, 0)
  assert.equal(bytes, WRITES * PIECE)
  assert.equal(written, WRITES)
})
