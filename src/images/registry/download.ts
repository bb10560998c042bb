/** Receives a blob into a file, in one part or several, and knows whether it is the right one. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Digest } from '../../storage/index.ts'
import { DigestMismatch } from './problem.ts'
import { SinkFailed } from './transport.ts'

export function createDownload(target: FileHandle, { digest, size }: { digest: Digest; size: number }) {
  let hash = createHash('sha256')
  let received = 0

  return {
    isWhole: (): boolean => received === size && size > 0,
    /** Asks for what is missing. */
    headers: (): Record<string, string> => (received > 0 ? { range: `bytes=${received}-` } : {}),

    async sink(body: AsyncIterable<Buffer>, status: number) {
      // A registry that does not send parts sends the whole again.
      if (status === 200 && received > 0) {
        await target.truncate(0)
        hash = createHash('sha256')
        received = 0
      }
      for await (const chunk of body) {
        if (received + chunk.byteLength > size) throw new SinkFailed(`more bytes than ${digest} has`)
        await target.write(chunk, 0, chunk.byteLength, received).catch((cause) => {
          throw new SinkFailed('the file could not be written', { cause })
        })
        hash.update(chunk)
        received += chunk.byteLength
      }
      if (received < size) throw new Error('the download was cut off')
    },

    verify() {
      if (received !== size || `sha256:${hash.digest('hex')}` !== digest) throw new DigestMismatch(digest)
    },
  }
}
