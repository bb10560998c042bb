/** The body of a request of git: unpacked, counted, and read as long as it makes progress. */
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Problem } from '../../contract/index.ts'

type Options = {
  encoding: string | undefined
  maxBytes: number
  /** Milliseconds without a byte after which it is given up. */
  stallMs: number
}

export const tooLarge = (maxBytes: number): Problem =>
  new Problem('PUSH_TOO_LARGE', `The request has more than ${maxBytes.toLocaleString('en')} bytes.`, {
    metadata: { limit: String(maxBytes) },
  })

/** Git compresses short requests. What is counted is what they unpack to. */
export async function* readBody(raw: Readable, { encoding, maxBytes, stallMs }: Options): AsyncGenerator<Buffer> {
  const plain = unpacked(raw, encoding)
  const timer = setTimeout(() => plain.destroy(new Problem('UPLOAD_TOO_SLOW')), stallMs)
  let bytes = 0
  try {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      timer.refresh()
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield chunk
      timer.refresh()
    }
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_'))
      throw new Problem('REQUEST_MALFORMED', 'The body is not what its Content-Encoding says.')
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function unpacked(raw: Readable, encoding: string | undefined): Readable {
  if (encoding === undefined || encoding === 'identity') return withoutEnding(raw)
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Problem('CONTENT_TYPE_UNSUPPORTED', 'A body is sent as it is, or with gzip.')
  const gunzip = createGunzip()
  raw.once('error', (error) => gunzip.destroy(error))
  raw.once('aborted', () => gunzip.destroy(new Problem('UPLOAD_INTERRUPTED')))
  return raw.pipe(gunzip)
}

/** A refusal leaves the request open, so that its answer can be sent. */
function withoutEnding(raw: Readable): Readable {
  return Object.assign(raw, {
    [Symbol.asyncIterator]: () => raw.iterator({ destroyOnReturn: false }),
  })
}
