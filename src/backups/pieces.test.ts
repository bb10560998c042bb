import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { padding } from '../tar/index.ts'
import { createPieces } from './pieces.ts'
import type { FoundFile } from './read-disk.ts'
import { headerOf } from './tar.ts'

/** From empty to longer than two pieces, so that some files begin or end within a piece and some at its edge. */
const SIZES = [0, 1, 511, 512, 100_000, 256 * 1024, 300_000, 700_000, 3]

/** Like a slow disk, it sometimes gives less than was asked for. */
function fileOf(bytes: Buffer, path: string): FoundFile & { isClosed(): boolean } {
  let from = 0
  let isClosed = false
  return {
    entry: { path, kind: 'file', mode: 0o600, uid: 0, gid: 0, time: 1, size: bytes.byteLength },
    source: {
      read(target, at, count) {
        const copied = bytes.copy(target, at, from, from + Math.min(count, 90_000))
        from += copied
        return copied
      },
      close() {
        isClosed = true
      },
    },
    isClosed: () => isClosed,
  }
}

function packed(bodies: readonly Buffer[], isGivenBack: boolean) {
  const pieces = createPieces()
  const written: Buffer[] = []
  const digests: (string | undefined)[] = []
  function write(piece: Buffer) {
    written.push(Buffer.from(piece))
    if (!isGivenBack) return
    // So that bytes which are left from before would be seen.
    piece.fill(0xff)
    pieces.giveBack(piece)
  }
  for (const [index, body] of bodies.entries()) {
    const adding = pieces.addEntry(fileOf(body, `file-${index}`))
    let next = adding.next()
    for (; !next.done; next = adding.next()) write(next.value)
    digests.push(next.value)
  }
  write(pieces.rest())
  return { tar: Buffer.concat(written), digests }
}

const bodies = SIZES.map((size) => randomBytes(size))
const expected = Buffer.concat(
  bodies.flatMap((body, index) => [headerOf(fileOf(body, `file-${index}`).entry), body, padding(body.byteLength)]),
)

test('the pieces together are the headers, bytes and paddings of all entries', () => {
  assert.ok(packed(bodies, false).tar.equals(expected))
})

test('pieces that are given back are used again, and the bytes stay the same', () => {
  assert.ok(packed(bodies, true).tar.equals(expected))
})

test('each file gets the digest of its own bytes, whatever pieces they lie in', () => {
  const digests = bodies.map((body) => createHash('sha256').update(body).digest('hex'))
  assert.deepEqual(packed(bodies, true).digests, digests)
})

test('a file is closed when the reader of the pieces stops in the middle of it', () => {
  const file = fileOf(randomBytes(700_000), 'large')
  for (const _ of createPieces().addEntry(file)) break
  assert.equal(file.isClosed(), true)
})
