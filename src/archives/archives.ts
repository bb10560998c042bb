/** Archives: what was uploaded, kept as it came under the digest of its bytes, and unpacked when it is wanted. */
import type { Readable } from 'node:stream'
import { Problem } from '../contract/index.ts'
import type { Blobs, Digest } from '../storage/index.ts'
import { type Contents, withArchive } from './check.ts'
import { readContent } from './content.ts'
import type { ArchiveLimits } from './limits.ts'
import { type Archive, receiveInto } from './receive.ts'
import { type Unpacked, type UnpackOptions, unpackTo } from './unpack.ts'

export type Archives = {
  /**
   * Takes the one file of a multipart/form-data body; on stable storage when it resolves. A refusal is a Problem, leaves
   * nothing behind and leaves the rest of the body unread and paused: the caller answers, then drains it or hangs up.
   */
  receive(body: Readable, contentType: string | undefined, signal?: AbortSignal): Promise<Archive>
  /**
   * Paths of the files and links that will be unpacked, sorted and relative to the app: without `node_modules` and `.git`
   * at any depth, and with one folder around everything taken off.
   */
  entries(digest: Digest): Promise<string[]>
  /** The text of a file, for planning; follows a link; undefined when there is no such file. At most 1 MiB. */
  read(digest: Digest, path: string): Promise<string | undefined>
  /**
   * Into a fresh folder, whose parent exists and which itself does not. Sizes and checksums are verified on the way. On
   * failure or abort the folder is gone.
   */
  unpack(digest: Digest, folder: string, options?: UnpackOptions): Promise<Unpacked>
}

const TEXT_BYTES_MOST = 1024 * 1024

export function createArchives({ blobs, limits }: { blobs: Blobs; limits: ArchiveLimits }): Archives {
  return {
    receive: (body, contentType, signal) => receiveInto({ blobs, limits }, body, contentType, signal),

    async entries(digest) {
      return await withArchive(await blobs.file(digest), limits, ({ files, links }) =>
        [...files, ...links].map(({ path }) => path).sort(),
      )
    },

    async read(digest, path) {
      return await withArchive(await blobs.file(digest), limits, async (contents, file) => {
        const entry = findFile(contents, path)
        if (!entry) return undefined
        if (entry.bytes > TEXT_BYTES_MOST) {
          throw new Problem('ARCHIVE_TOO_LARGE', `${path} has more than ${TEXT_BYTES_MOST} bytes.`, {
            metadata: { what: 'fileBytes', limit: String(TEXT_BYTES_MOST), entry: path },
          })
        }
        return new TextDecoder().decode(await readContent(file, entry))
      })
    },

    async unpack(digest, folder, options = {}) {
      return await withArchive(await blobs.file(digest), limits, (contents, file) =>
        unpackTo(folder, contents, file, options),
      )
    },
  }
}

/** The file of that path, or the one that a link of that path leads to. */
function findFile({ files, links }: Contents, path: string) {
  const place = links.find((link) => link.path === path)?.leadsTo ?? path
  return files.find((file) => file.path === place)?.entry
}
