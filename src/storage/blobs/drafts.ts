/** A blob before it has its name: written beside the others, and removed if the process died before it was whole. */
import { createHash } from 'node:crypto'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, freeBuffers } from '../../base/index.ts'
import type { Blob } from './blobs.ts'

const PIECE_BYTES = 1024 * 1024
const PIECES_PER_COLLECTION = 8

/**
 * Writes and hashes the bytes of a source, and fsyncs them unless told otherwise. Two buffers are used in turn, so that one is written while the other
 * fills, and memory stays constant.
 */
export async function writeDraft(
  path: string,
  source: AsyncIterable<Uint8Array>,
  { sync = true }: { sync?: boolean } = {},
): Promise<Blob> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx', 0o600)
  let [filling, other] = [Buffer.allocUnsafeSlow(PIECE_BYTES), Buffer.allocUnsafeSlow(PIECE_BYTES)]
  let [filled, bytes, pieces] = [0, 0, 0]
  let writing: Promise<void> = Promise.resolve()

  async function handOver() {
    await writing
    writing = file.writeFile(filling.subarray(0, filled))
    // The next call awaits it. Until then a fault must not be an unhandled rejection, if the source fails first.
    writing.catch(() => undefined)
    pieces += 1
    if (pieces % PIECES_PER_COLLECTION === 0) freeBuffers()
    ;[filling, other] = [other, filling]
    filled = 0
  }

  try {
    for await (const chunk of source) {
      hash.update(chunk)
      bytes += chunk.byteLength
      for (let from = 0; from < chunk.byteLength; ) {
        const piece = chunk.subarray(from, from + PIECE_BYTES - filled)
        filling.set(piece, filled)
        filled += piece.byteLength
        from += piece.byteLength
        if (filled === PIECE_BYTES) await handOver()
      }
    }
    await handOver()
    await writing
    if (sync) await file.sync()
  } finally {
    await writing.catch(() => undefined)
    await file.close()
  }
  return { digest: `sha256:${hash.digest('hex')}`, bytes }
}

/** A draft that was not written to for this long was left by a process that died. */
export const ABANDONED_AFTER_MS = 60 * 60 * 1000

/** `isOurs` tells those of this process, which may be older. */
export async function sweepDrafts(drafts: string, isOurs: (name: string) => boolean = () => false) {
  for (const name of await readdir(drafts)) {
    if (isOurs(name)) continue
    const draft = join(drafts, name)
    const found = await stat(draft).catch(absent)
    if (found && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) await rm(draft, { force: true })
  }
}
