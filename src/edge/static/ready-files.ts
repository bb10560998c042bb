/**
 * Small files of static deployments that were requested recently, ready to be sent. A file is identified by its
 * content: when another deployment becomes live, unchanged files are still ready, and changed ones are not found.
 */
import { createShares } from '../shares.ts'

/** Whose files they are, and the manifest that lists them. */
type Listed = { environment: string; manifest: string }

export type ReadyFile = {
  /** The manifest by which it was found. */
  manifest: string
  etag: string
  headers: string[]
  body: Buffer
}

/** Memory of the headers that every file has. */
const HEADERS_BYTES = 768

export function createReadyFiles(maxBytes: number) {
  const files = createShares<ReadyFile>(maxBytes)
  const nameOf = (encodings: string, path: string) => `${encodings} ${path}`

  return {
    /** The file of the live deployment. */
    find({ environment, manifest }: Listed, encodings: string, path: string): ReadyFile | undefined {
      const file = files.get(environment, nameOf(encodings, path))
      return file?.manifest === manifest ? file : undefined
    },

    /** The same content, found by the manifest of any deployment. */
    findSame({ environment }: Listed, encodings: string, path: string, etag: string): Buffer | undefined {
      const file = files.get(environment, nameOf(encodings, path))
      return file?.etag === etag ? file.body : undefined
    },

    keep({ environment, manifest }: Listed, encodings: string, path: string, file: Omit<ReadyFile, 'manifest'>) {
      // Rules may add any number of headers.
      const headerBytes = Math.max(HEADERS_BYTES, 2 * file.headers.reduce((sum, text) => sum + text.length, 0))
      files.set(environment, nameOf(encodings, path), { ...file, manifest }, file.body.length + headerBytes)
    },

    forget: files.forget,
  }
}

export type ReadyFiles = ReturnType<typeof createReadyFiles>
