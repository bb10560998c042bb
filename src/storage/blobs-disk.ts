/**
 * Blobs as files: `<folder>/ab/abcdef…`. A blob is written aside, fsynced and renamed, so a name that exists is whole; the
 * folder is fsynced too, or the name itself could be lost with the power.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { randomToken } from '../base/index.ts'
import { BlobNotFound, type Blobs, checkDigest, type Digest } from './blobs.ts'

export async function openDiskBlobs(folder: string): Promise<Blobs> {
  const aside = join(folder, 'aside')
  await mkdir(aside, { recursive: true, mode: 0o700 })
  await sweep(aside)

  function place(digest: Digest) {
    checkDigest(digest)
    const hex = digest.slice('sha256:'.length)
    return { shelf: join(folder, hex.slice(0, 2)), file: join(folder, hex.slice(0, 2), hex) }
  }

  async function has(digest: Digest): Promise<boolean> {
    const found = await stat(place(digest).file).catch(absent)
    return found !== undefined
  }

  return {
    has,
    async put(source) {
      const draft = join(aside, randomToken())
      const hash = createHash('sha256')
      let bytes = 0
      try {
        const file = await open(draft, 'wx', 0o600)
        try {
          for await (const chunk of source) {
            hash.update(chunk)
            bytes += chunk.byteLength
            await file.writeFile(chunk)
          }
          await file.sync()
        } finally {
          await file.close()
        }
        const digest: Digest = `sha256:${hash.digest('hex')}`
        const { shelf, file: target } = place(digest)
        const firstMade = await mkdir(shelf, { recursive: true, mode: 0o700 })
        await rename(draft, target)
        await syncFolder(shelf)
        if (firstMade) await syncFolder(folder)
        return { digest, bytes }
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
    async open(digest) {
      const file = await open(place(digest).file).catch(absent)
      if (!file) throw new BlobNotFound(digest)
      return file.createReadStream()
    },
    async remove(digest) {
      const { shelf, file } = place(digest)
      if (!(await has(digest))) return
      await rm(file, { force: true })
      await syncFolder(shelf)
    },
  }
}

/** A draft that nobody has written to for this long was left by a process that died. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000

async function sweep(aside: string) {
  for (const name of await readdir(aside)) {
    const draft = join(aside, name)
    const found = await stat(draft).catch(absent)
    if (found && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) await rm(draft, { force: true })
  }
}

async function syncFolder(path: string) {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
