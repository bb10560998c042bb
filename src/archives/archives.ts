/** Uploaded archives: stored unchanged under the digest of their bytes, and unpacked for builds. */
import type { Readable } from 'node:stream'
import { sortInTurns } from '../base/index.ts'
import { type Blobs, collectBlobs, type Digest } from '../storage/index.ts'
import { withArchive } from './check.ts'
import { readContent, readHead } from './content.ts'
import type { ArchiveLimits } from './limits.ts'
import { expectBody } from './multipart.ts'
import { type Archive, inspectIn, type ReceiveOptions, receiveInto, takeInto } from './receive.ts'
import { OWN_FOLDER } from './select.ts'
import { type Unpacked, type UnpackOptions, unpackTo } from './unpack.ts'

export type Archives = {
  /** Refuses a body whose Content-Length is larger than an archive may be, before a byte of it is read. */
  expect(bodyBytes: number): void
  /**
   * Stores the one file of a multipart/form-data body; it is on stable storage when this resolves. A refusal is a Problem,
   * stores nothing and leaves the rest of the body unread and paused: the caller replies, then drains it or hangs up.
   */
  receive(body: Readable, contentType: string | undefined, options?: ReceiveOptions): Promise<Archive>
  /** The folder around everything in a zip that the service makes. It is taken off like any other, and not told. */
  ownFolder: string
  /** Stores a zip that did not come in a form, with the same checks. */
  take(file: AsyncIterable<Buffer>, options?: ReceiveOptions): Promise<Archive>
  /** Checks like `receive`, but keeps nothing. */
  inspect<T>(
    body: Readable,
    contentType: string | undefined,
    options: ReceiveOptions,
    use: (inside: Inside) => Promise<T>,
  ): Promise<T>
  has(digest: Digest): Promise<boolean>
  /** A checksum of every file that will be unpacked, by path: enough to show what differs between two versions of an app. */
  checksums(digest: Digest): Promise<Map<string, string>>
  /** Opens an archive for planning. */
  look<T>(digest: Digest, use: (inside: Inside) => Promise<T>): Promise<T>
  /**
   * Into a new folder, whose parent exists and which itself does not. Sizes and checksums are verified. On failure or abort
   * the folder is removed.
   */
  unpack(digest: Digest, folder: string, options?: UnpackOptions): Promise<Unpacked>
  /** Removes archives that are not needed and returns how many. One that was just received stays: its build may not be recorded yet. */
  collect(needed: () => Promise<Pick<ReadonlySet<string>, 'has'>>, isOver?: () => boolean): Promise<number>
}

/** What is in an archive, for as long as it is open. */
export type Inside = {
  /**
   * Paths of the files and links that will be unpacked, sorted and relative to the app: without `node_modules` and `.git`
   * at any depth, and without the one folder that may contain everything else.
   */
  files: string[]
  /** The text of a file; follows a link; undefined when there is no such file, or it has more than 1 MiB. */
  read(path: string): Promise<string | undefined>
  /** The first bytes of a file of any size. */
  head(path: string, bytes: number): Promise<string | undefined>
}

const MAX_TEXT_BYTES = 1024 * 1024

export function createArchives({ blobs, limits }: { blobs: Blobs; limits: ArchiveLimits }): Archives {
  return {
    expect: (bodyBytes) => expectBody(bodyBytes, limits),
    receive: (body, contentType, options) => receiveInto({ blobs, limits }, { ...options, body, contentType }),
    ownFolder: OWN_FOLDER,
    take: (file, options) => takeInto({ blobs, limits }, file, options),
    inspect: (body, contentType, options, use) =>
      inspectIn({ blobs, limits }, { ...options, body, contentType }, (path) => lookInto(path, limits, use)),
    has: (digest) => blobs.has(digest),

    async checksums(digest) {
      return await blobs.withFile(digest, (path) =>
        withArchive(
          path,
          limits,
          ({ files }) => new Map(files.map(({ path, entry }) => [path, `${entry.crc32}-${entry.bytes}`])),
        ),
      )
    },

    look: (digest, use) => blobs.withFile(digest, (path) => lookInto(path, limits, use)),

    async unpack(digest, folder, options = {}) {
      return await blobs.withFile(digest, (path) =>
        withArchive(path, limits, (contents, file) => unpackTo(folder, contents, file, options)),
      )
    },

    collect: (needed, isOver) => collectBlobs(blobs, needed, isOver),
  }
}

async function lookInto<T>(path: string, limits: ArchiveLimits, use: (inside: Inside) => Promise<T>): Promise<T> {
  return await withArchive(path, limits, async (contents, file) => {
    const entries = new Map(contents.files.map(({ path, entry }) => [path, entry]))
    for (const { path, leadsTo } of contents.links) {
      const entry = entries.get(leadsTo)
      if (entry) entries.set(path, entry)
    }
    const paths = [...contents.files, ...contents.links].map(({ path }) => path)
    return await use({
      files: await sortInTurns(paths, (path) => path),
      async read(path) {
        const entry = entries.get(path)
        if (!entry || entry.bytes > MAX_TEXT_BYTES) return undefined
        return new TextDecoder().decode(await readContent(file, entry))
      },
      async head(path, bytes) {
        const entry = entries.get(path)
        return entry && new TextDecoder().decode(await readHead(file, entry, bytes))
      },
    })
  })
}
