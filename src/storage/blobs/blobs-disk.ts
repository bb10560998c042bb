/**
 * Blobs as files: `<folder>/ab/abcdef…`. A blob is written to a draft, fsynced and renamed, so a name that exists is whole; the
 * folder is fsynced too, or the name itself could be lost with the power. The time of a file is when it was last put.
 */
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, createTurns, randomToken } from '../../base/index.ts'
import { BlobNotFound, type Blobs, checkDigest, type Digest } from './blobs.ts'
import { sweepDrafts, writeDraft } from './drafts.ts'

export async function openDiskBlobs(folder: string): Promise<Blobs> {
  const drafts = join(folder, 'aside')
  await mkdir(drafts, { recursive: true, mode: 0o700 })
  await sweepDrafts(drafts)
  // A blob that is put again must not be removed at the same moment. Turns hold within this process; two processes each check
  // once more after their change, so that one of them sees the other.
  const inTurn = createTurns()

  function place(digest: Digest) {
    checkDigest(digest)
    const hex = digest.slice('sha256:'.length)
    return { subfolder: join(folder, hex.slice(0, 2)), file: join(folder, hex.slice(0, 2), hex) }
  }

  async function has(digest: Digest): Promise<boolean> {
    const found = await stat(place(digest).file).catch(absent)
    return found !== undefined
  }

  async function keep(draft: string, digest: Digest) {
    const { subfolder, file } = place(digest)
    const now = new Date()
    const isThere = await utimes(file, now, now).then(() => has(digest), absent)
    // What is there already has the same bytes. Freeing a large draft takes the disk a while: it is not awaited.
    if (isThere) return discard(draft)
    const firstMade = await mkdir(subfolder, { recursive: true, mode: 0o700 })
    await rename(draft, file)
    await syncFolder(subfolder)
    if (firstMade) await syncFolder(folder)
  }

  return {
    has,
    async put(source, check) {
      const draft = join(drafts, randomToken())
      try {
        const { digest, bytes } = await writeDraft(draft, source)
        await check?.(draft)
        await inTurn(digest, () => keep(draft, digest))
        return { digest, bytes }
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
    async lend(source, use) {
      const draft = join(drafts, randomToken())
      try {
        await writeDraft(draft, source)
        return await use(draft)
      } finally {
        await rm(draft, { force: true })
      }
    },
    async open(digest) {
      const file = await open(place(digest).file).catch(absent)
      if (!file) throw new BlobNotFound(digest)
      return file.createReadStream()
    },
    async withFile(digest, use) {
      if (!(await has(digest))) throw new BlobNotFound(digest)
      return await use(place(digest).file)
    },
    async list() {
      const subfolders = (await readdir(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name))
      const names = await Promise.all(subfolders.map((subfolder) => readdir(join(folder, subfolder))))
      return names.flat().flatMap((name): Digest[] => (/^[0-9a-f]{64}$/.test(name) ? [`sha256:${name}`] : []))
    },
    async remove(digest, unless) {
      const { subfolder, file } = place(digest)
      return inTurn(digest, async () => {
        const found = await stat(file).catch(absent)
        if (!found) return true
        if (unless && found.mtimeMs >= unless.putSince) return false
        const gone = join(drafts, randomToken())
        await rename(file, gone)
        if (unless && (await stat(gone)).mtimeMs >= unless.putSince) {
          await rename(gone, file)
          return false
        }
        await rm(gone, { force: true })
        await syncFolder(subfolder)
        return true
      })
    },
    sweep: () => sweepDrafts(drafts),
  }
}

/** If this fails, the next start removes the draft. */
function discard(draft: string) {
  rm(draft, { force: true }).catch(() => undefined)
}

async function syncFolder(path: string) {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
