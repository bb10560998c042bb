/**
 * Small files of static deployments that were asked for of late, ready to be sent. A file is known by its content: when
 * another deployment becomes live, what did not change is still ready, and what did is not found.
 */
import type { StaticTarget } from '../routes.ts'
import { createShares } from '../shares.ts'

export type ReadyFile = {
  /** The list of files by which it was found. */
  manifest: string
  etag: string
  headers: string[]
  body: Buffer
}

/** What its headers take. */
const HEADERS_BYTES = 768

export function createReadyFiles(maxBytes: number) {
  const files = createShares<ReadyFile>(maxBytes)
  const nameOf = (encodings: string, path: string) => `${encodings} ${path}`

  return {
    /** As the deployment that is live has it. */
    find({ environment, manifest }: StaticTarget, encodings: string, path: string): ReadyFile | undefined {
      const file = files.get(environment, nameOf(encodings, path))
      return file?.manifest === manifest ? file : undefined
    },

    /** The same content, whichever deployment it was found by: it is ready for this one as well. */
    findSame({ environment }: StaticTarget, encodings: string, path: string, etag: string): Buffer | undefined {
      const file = files.get(environment, nameOf(encodings, path))
      return file?.etag === etag ? file.body : undefined
    },

    keep({ environment, manifest }: StaticTarget, encodings: string, path: string, file: Omit<ReadyFile, 'manifest'>) {
      files.set(environment, nameOf(encodings, path), { ...file, manifest }, file.body.length + HEADERS_BYTES)
    },

    keepOnly: files.keepOnly,
  }
}

export type ReadyFiles = ReturnType<typeof createReadyFiles>
