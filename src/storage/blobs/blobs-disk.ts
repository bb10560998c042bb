/**
 * Blobs as files: `<folder>/ab/abcdef…`. A blob is written to a draft, fsynced and renamed, so a name that exists is whole; the
 * folder is fsynced too, or the name itself could be lost with the power. The time of a file is when it was last put.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, createTurns, freeBuffers, randomToken } from '../../base/index.ts'
import { BlobNotFound, type Blobs, checkDigest, type Digest } from './blobs.ts'

export async function openDiskBlobs(folder: string): Promise<Blobs> {
  const drafts = join(folder, 'aside')
  await mkdir(drafts, { recursive: true, mode: 0o700 })
  await sweep(drafts)
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
        const { digest, bytes } = await write(draft, source)
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
        await write(draft, source)
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
    async file(digest) {
      if (!(await has(digest))) throw new BlobNotFound(digest)
      return place(digest).file
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
    sweep: () => sweep(drafts),
  }
}

/** If this fails, the next start removes the draft. */
function discard(draft: string) {
  rm(draft, { force: true }).catch(() => undefined)
}

const PIECE_BYTES = 1024 * 1024
const PIECES_PER_COLLECTION = 8

/**
 * Writes, hashes and fsyncs the bytes of a source. Two buffers are used in turn, so that one is written while the other
 * fills, and memory stays constant.
 */
async function write(path: string, source: AsyncIterable<Uint8Array>): Promise<{ digest: Digest; bytes: number }> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx', 0o600)
  let [filling, other] = [Buffer.allocUnsafeSlow(PIECE_BYTES), Buffer.allocUnsafeSlow(PIECE_BYTES)]
  let [filled, bytes, pieces] = [0, 0, 0]
  let writing: Promise<void> = Promise.resolve()

  async function handOver() {
    await writing
    writing = file.writeFile(filling.subarray(0, filled))
    // The next call awaits it. Until then a fault must not be an unhandled rejection, if the source fails first.
    writing.catch(() => undefined)
    pieces += 1
    if (pieces % PIECES_PER_COLLECTION === 0) freeBuffers()
    ;[filling, other] = [other, filling]
    filled = 0
  }

  try {
    for await (const chunk of source) {
      hash.update(chunk)
      bytes += chunk.byteLength
      for (let from = 0; from < chunk.byteLength; ) {
        const piece = chunk.subarray(from, from + PIECE_BYTES - filled)
        filling.set(piece, filled)
        filled += piece.byteLength
        from += piece.byteLength
        if (filled === PIECE_BYTES) await handOver()
      }
    }
    await handOver()
    await writing
    await file.sync()
  } finally {
    await writing.catch(() => undefined)
    await file.close()
  }
  return { digest: `sha256:${hash.digest('hex')}`, bytes }
}

/** A draft that was not written to for this long was left by a process that died. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000

async function sweep(drafts: string) {
  for (const name of await readdir(drafts)) {
    const draft = join(drafts, name)
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
