/**
 * Small files of static deployments that were asked for of late, ready to be sent. A file is known by its content: when
 * another deployment becomes live, what did not change is still ready, and what did is not found.
 */
import type { StaticTarget } from './routes.ts'

export type ReadyFile = {
  /** The list of files by which it was found. */
  manifest: string
  etag: string
  headers: string[]
  body: Buffer
  /** Asked for since the last time that something had to go. */
  isUsed: boolean
}

/** What one takes beside its body. */
const OVERHEAD_BYTES = 1024

export function createReadyFiles(bytesMost: number) {
  const files = new Map<string, ReadyFile>()
  let bytes = 0

  const nameOf = ({ environment }: StaticTarget, encodings: string, path: string) =>
    `${environment} ${encodings} ${path}`
  const weightOf = ({ body }: ReadyFile) => body.length + OVERHEAD_BYTES

  function makeRoom() {
    for (const [name, file] of files) {
      if (bytes <= bytesMost) return
      files.delete(name)
      if (file.isUsed) {
        file.isUsed = false
        files.set(name, file)
      } else bytes -= weightOf(file)
    }
  }

  return {
    /** As the deployment that is live has it. */
    find(target: StaticTarget, encodings: string, path: string): ReadyFile | undefined {
      const file = files.get(nameOf(target, encodings, path))
      if (file?.manifest !== target.manifest) return undefined
      file.isUsed = true
      return file
    },

    /** The same content, whichever deployment it was found by: it is ready for this one as well. */
    findSame(target: StaticTarget, encodings: string, path: string, etag: string): Buffer | undefined {
      const file = files.get(nameOf(target, encodings, path))
      return file?.etag === etag ? file.body : undefined
    },

    keep(target: StaticTarget, encodings: string, path: string, file: Omit<ReadyFile, 'manifest' | 'isUsed'>) {
      const name = nameOf(target, encodings, path)
      const before = files.get(name)
      const kept = { ...file, manifest: target.manifest, isUsed: false }
      files.set(name, kept)
      bytes += weightOf(kept) - (before ? weightOf(before) : 0)
      if (bytes > bytesMost) makeRoom()
    },
  }
}

export type ReadyFiles = ReturnType<typeof createReadyFiles>
