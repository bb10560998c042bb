/** The first step of an archive's path: counted, hashed, checked and stored while and after it arrives. */
import type { Readable } from 'node:stream'
import type { Blobs, Digest } from '../storage/index.ts'
import { withArchive } from './check.ts'
import { openForm } from './form.ts'
import type { ArchiveLimits } from './limits.ts'

/** `files` counts what will be unpacked: files and links. */
export type Archive = { digest: Digest; bytes: number; files: number }

type Parts = { blobs: Blobs; limits: ArchiveLimits }

export async function receiveInto(
  { blobs, limits }: Parts,
  body: Readable,
  contentType: string | undefined,
  signal?: AbortSignal,
): Promise<Archive> {
  const form = openForm(body, contentType, limits, signal)
  try {
    let files = 0
    const blob = await blobs.put(form.file, async (path) => {
      files = await withArchive(path, limits, (contents) => contents.files.length + contents.links.length)
      signal?.throwIfAborted()
    })
    return { ...blob, files }
  } finally {
    form.close()
  }
}
