/** Receives an upload: its archive is counted, hashed, checked and stored. */
import type { Readable } from 'node:stream'
import type { Blobs, Digest } from '../storage/index.ts'
import { withArchive } from './check.ts'
import type { ArchiveLimits } from './limits.ts'
import { openForm } from './multipart.ts'
import { tooLarge } from './refusals.ts'

/** `files` counts what will be unpacked: files and links. */
export type Archive = { digest: Digest; bytes: number; files: number }

type Parts = { blobs: Blobs; limits: ArchiveLimits }

/** The request that brings an archive. */
export type Upload = ReceiveOptions & { body: Readable; contentType: string | undefined }

export type ReceiveOptions = {
  signal?: AbortSignal
  /** Called as bytes arrive, with their number so far. When it throws, the rest is not read. */
  admit?(bytes: number): Promise<void>
}

export async function receiveInto({ blobs, limits }: Parts, upload: Upload): Promise<Archive> {
  const { body, contentType, signal } = upload
  const form = openForm(body, contentType, limits, signal)
  try {
    return await store({ blobs, limits }, form.file, upload)
  } finally {
    form.close()
  }
}

/** The same for a zip that did not come in a form. */
export const takeInto = (parts: Parts, file: AsyncIterable<Buffer>, options: ReceiveOptions = {}): Promise<Archive> =>
  store(parts, limited(file, parts.limits), options)

async function store({ blobs, limits }: Parts, file: AsyncIterable<Buffer>, { admit, signal }: ReceiveOptions) {
  let files = 0
  const blob = await blobs.put(admitted(file, admit), async (path) => {
    files = await withArchive(path, limits, (contents) => contents.files.length + contents.links.length)
    signal?.throwIfAborted()
  })
  return { ...blob, files }
}

async function* limited(file: AsyncIterable<Buffer>, limits: ArchiveLimits): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of file) {
    bytes += chunk.length
    if (bytes > limits.archiveBytes) throw tooLarge('archiveBytes', limits)
    yield chunk
  }
}

/** The same checks, but nothing is kept: the file exists until `use` returns. */
export async function inspectIn<T>(
  { blobs, limits }: Parts,
  upload: Upload,
  use: (file: string) => Promise<T>,
): Promise<T> {
  const { body, contentType, signal, admit } = upload
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
