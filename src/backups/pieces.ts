/**
 * The bytes of a backup, in pieces of one size. A file is read straight into the piece that is sent next: copies and a piece for
 * each small file would cost more than reading it. A piece fits into a processor's cache, where its bytes are hashed twice.
 */
import { createHash } from 'node:crypto'
import { padding } from '../tar/index.ts'
import type { FoundFile, Source } from './read-disk.ts'
import { headerOf } from './tar.ts'

const PIECE_BYTES = 256 * 1024

/** Every generator returns the pieces that became full. */
export function createPieces() {
  const free: Buffer[] = []
  const newPiece = () => free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES)
  let piece = newPiece()
  let used = 0

  function take(): Buffer {
    const taken = piece.subarray(0, used)
    piece = newPiece()
    used = 0
    return taken
  }

  function* add(bytes: Buffer): Generator<Buffer> {
    for (let from = 0; from < bytes.byteLength; ) {
      const count = bytes.copy(piece, used, from)
      from += count
      used += count
      if (used === PIECE_BYTES) yield take()
    }
  }

  /** Returns the digest of the bytes. */
  function* addAll(source: Source, size: number): Generator<Buffer, string> {
    const hash = createHash('sha256')
    for (let left = size; left > 0; ) {
      const count = source.read(piece, used, Math.min(left, PIECE_BYTES - used))
      hash.update(piece.subarray(used, used + count))
      left -= count
      used += count
      if (used === PIECE_BYTES) yield take()
    }
    return hash.digest('hex')
  }

  return {
    add,
    /** An entry with its bytes, whose digest is returned. */
    *addEntry({ entry, source }: FoundFile): Generator<Buffer, string | undefined> {
      try {
        yield* add(headerOf(entry))
        const sha256 = source && (yield* addAll(source, entry.size))
        yield* add(padding(entry.size))
        return sha256
      } finally {
        source?.close()
      }
    },
    /** What is left at the end. */
    rest: take,
    /** A piece that was written elsewhere is used again: to collect thousands as garbage costs a tenth of a backup. */
    giveBack(taken: Buffer) {
      if (taken.byteLength === PIECE_BYTES) free.push(taken)
    },
  }
}

export type Pieces = ReturnType<typeof createPieces>
