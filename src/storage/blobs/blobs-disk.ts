/**
 * Blobs as files: `<folder>/ab/abcdef…`. A blob is written aside, fsynced and renamed, so a name that exists is whole; the
 * folder is fsynced too, or the name itself could be lost with the power. The time of a file is when it was last put.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createTurns, freeBuffers, randomToken } from '../../base/index.ts'
import { BlobNotFound, type Blobs, checkDigest, type Digest } from './blobs.ts'

export async function openDiskBlobs(folder: string): Promise<Blobs> {
  const aside = join(folder, 'aside')
  await mkdir(aside, { recursive: true, mode: 0o700 })
  await sweep(aside)
  // What is put again must not be removed in the same moment. Another process is not kept from it: each looks once more
  // after what it did, and of the two one sees the other.
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
    // What is there already has the same bytes. Freeing a large draft takes the disk a while, for which nobody waits.
    if (isThere) return discard(draft)
    const firstMade = await mkdir(subfolder, { recursive: true, mode: 0o700 })
    await rename(draft, file)
    await syncFolder(subfolder)
    if (firstMade) await syncFolder(folder)
  }

  return {
    has,
    async put(source, check) {
      const draft = join(aside, randomToken())
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
      const draft = join(aside, randomToken())
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
        const gone = join(aside, randomToken())
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
    sweep: () => sweep(aside),
  }
}

/** If this does not come to its end, the next start sweeps. */
function discard(draft: string) {
  rm(draft, { force: true }).catch(() => undefined)
}

const PIECE_BYTES = 1024 * 1024
const PIECES_PER_COLLECTION = 8

/**
 * Writes, hashes and fsyncs what a source gives. Two pieces are used in turn, so that one is on its way to the disk while
 * the other fills, and memory stays what it is.
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
    // Looked at by the next one; this keeps a fault from being nobody's if the source fails first.
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
