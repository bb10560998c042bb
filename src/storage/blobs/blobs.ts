/** Bytes that never change, kept under the SHA-256 of what they are. */
import type { Readable } from 'node:stream'

/** `sha256:` and 64 hexadecimal digits. */
export type Digest = `sha256:${string}`
export type Blob = { digest: Digest; bytes: number }

export interface Blobs {
  /**
   * Stores what the source gives; on stable storage when it resolves. `check` sees all of it in a file before it becomes
   * a blob. A source or a check that throws leaves nothing behind.
   */
  put(source: AsyncIterable<Uint8Array>, check?: (file: string) => Promise<void>): Promise<Blob>
  /** What the source gives, in a file for as long as `use` takes; nothing of it is kept. */
  lend<T>(source: AsyncIterable<Uint8Array>, use: (file: string) => Promise<T>): Promise<T>
  has(digest: Digest): Promise<boolean>
  /** The bytes; rejects with BlobNotFound. */
  open(digest: Digest): Promise<Readable>
  /** A local file with the bytes, for whoever has to jump about in them. To be read only; rejects with BlobNotFound. */
  file(digest: Digest): Promise<string>
  list(): Promise<Digest[]>
  /**
   * Removing what is not there is not an error. With a time, it stays if it was put since then, even if it was there
   * before: whoever put it is about to refer to it. Says whether it is gone.
   */
  remove(digest: Digest, unless?: { putSince: number }): Promise<boolean>
  /** Removes what processes left that died while they put. */
  sweep(): Promise<void>
}

export class BlobNotFound extends Error {
  constructor(digest: Digest) {
    super(`no blob ${digest}`)
    this.name = 'BlobNotFound'
  }
}

const FORM = /^sha256:[0-9a-f]{64}$/

/** A digest may come from a stored record: it becomes a path only after this. */
export function checkDigest(text: string): asserts text is Digest {
  if (!FORM.test(text)) throw new Error(`not a digest: ${JSON.stringify(text.slice(0, 80))}`)
}
