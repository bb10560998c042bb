/** Immutable bytes, stored under their SHA-256. */
import type { Readable } from 'node:stream'

/** `sha256:` and 64 hexadecimal digits. */
export type Digest = `sha256:${string}`
export type Blob = { digest: Digest; bytes: number }

export interface Blobs {
  /**
   * Stores the bytes of the source; they are on stable storage when it resolves. `check` gets all of them in a file
   * before it becomes a blob. A source or a check that throws leaves nothing behind.
   */
  put(source: AsyncIterable<Uint8Array>, check?: (file: string) => Promise<void>): Promise<Blob>
  /** The bytes of the source in a file while `use` runs; nothing of it is kept. */
  lend<T>(source: AsyncIterable<Uint8Array>, use: (file: string) => Promise<T>): Promise<T>
  has(digest: Digest): Promise<boolean>
  /** The bytes; rejects with BlobNotFound. */
  open(digest: Digest): Promise<Readable>
  /** A local file with the bytes, for random access while `use` runs. Read-only; rejects with BlobNotFound. */
  withFile<T>(digest: Digest, use: (file: string) => Promise<T>): Promise<T>
  list(): Promise<Digest[]>
  /**
   * Removing a missing blob is not an error. With `putSince`, the blob stays if it was put since then, even if it
   * existed before: the process that put it is about to refer to it. Returns whether it is gone.
   */
  remove(digest: Digest, unless?: { putSince: number }): Promise<boolean>
  /** Removes drafts of processes that died while they put a blob. */
  sweep(): Promise<void>
}

export class BlobNotFound extends Error {
  constructor(digest: Digest) {
    super(`no blob ${digest}`)
    this.name = 'BlobNotFound'
  }
}

const FORM = /^sha256:[0-9a-f]{64}$/

/** A digest may come from a stored record: it becomes a path only after this check. */
export function checkDigest(text: string): asserts text is Digest {
  if (!FORM.test(text)) throw new Error(`not a digest: ${JSON.stringify(text.slice(0, 80))}`)
}
