/** The first step of an archive's path: counted, hashed, checked and stored while and after it arrives. */
import type { Readable } from 'node:stream'
import type { Blobs, Digest } from '../storage/index.ts'
import { withArchive } from './check.ts'
import type { ArchiveLimits } from './limits.ts'
import { openForm } from './multipart.ts'

/** `files` counts what will be unpacked: files and links. */
export type Archive = { digest: Digest; bytes: number; files: number }

type Parts = { blobs: Blobs; limits: ArchiveLimits }

export type ReceiveOptions = {
  signal?: AbortSignal
  /** Asked as bytes arrive, with how many there are by now. Where it throws, the rest is not read. */
  admit?(bytes: number): Promise<void>
}

export async function receiveInto(
  { blobs, limits }: Parts,
  body: Readable,
  contentType: string | undefined,
  { signal, admit }: ReceiveOptions = {},
): Promise<Archive> {
  const form = openForm(body, contentType, limits, signal)
  try {
    let files = 0
    const blob = await blobs.put(admitted(form.file, admit), async (path) => {
      files = await withArchive(path, limits, (contents) => contents.files.length + contents.links.length)
      signal?.throwIfAborted()
    })
    return { ...blob, files }
  } finally {
    form.close()
  }
}

/** The same checks, and nothing is kept: `use` has the file, and when it is over the file is gone. */
export async function inspectIn<T>(
  { blobs, limits }: Parts,
  body: Readable,
  contentType: string | undefined,
  { signal, admit }: ReceiveOptions,
  use: (file: string) => Promise<T>,
): Promise<T> {
  const form = openForm(body, contentType, limits, signal)
  try {
    return await blobs.lend(admitted(form.file, admit), use)
  } finally {
    form.close()
  }
}

async function* admitted(file: AsyncIterable<Buffer>, admit: ReceiveOptions['admit']): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of file) {
    bytes += chunk.length
    await admit?.(bytes)
    yield chunk
  }
}
