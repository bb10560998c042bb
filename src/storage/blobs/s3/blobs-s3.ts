/**
 * Blobs in a bucket of an object store, with copies on the local disk. Each kind of them has a folder, and the keys below it
 * are the names that the disk uses (`blobs/ab/abcdef…`), so a blob can be moved with any tool.
 *
 * A blob is written once. When it was put last stands in the time of an empty object beside it, since putting it again must
 * count and does not write it again. Two processes may put and remove the same blob at the same time: the one that puts writes
 * its mark and then looks whether the other is removing; the other writes that it is removing and then looks at the mark. So at
 * least one of them sees the other. The one that removes leaves the blob alone, and the one that puts waits and puts it again.
 */
import { createReadStream } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { createTurns } from '../../../base/index.ts'
import { type Blobs, checkDigest, type Digest } from '../blobs.ts'
import { ABANDONED_AFTER_MS, writeDraft } from '../drafts.ts'
import { type Cache, openCache } from './cache.ts'
import { type Bucket, createClient, type Timeouts } from './client.ts'
import { createDownloads } from './downloads.ts'
import { createObjects, type Objects } from './objects.ts'
import { createOwnership } from './owner.ts'
import { createUploads } from './upload.ts'

export { createMovingBlobs } from '../blobs-moving.ts'
export { probeBucket } from './probe.ts'

export type S3Options = {
  bucket: Bucket
  /** What all keys begin with; empty for none. */
  prefix: string
  /** The service that the prefix belongs to. */
  owner: string
  /** Where copies are kept, and how many bytes of them. */
  cache: { folder: string; maxBytes: number }
  timeouts?: Timeouts
}

/** A process that removes a blob is done with it, or dead, after this time: its requests have time-outs. */
const REMOVED_AFTER_MS = 60_000
const LOOK_AGAIN_MS = 200

type Kind = {
  folder: string
  /** A caller of the API waits for the bytes, and not a build. */
  isForCallers?: boolean
  /** No two puts have the same bytes: so none is put again while it is removed, and its own time is when it was put. */
  isUnique?: boolean
}

/** One bucket, whose blobs of all kinds share the copies on the disk. */
export async function openS3Store(options: S3Options) {
  const client = createClient(options.bucket, options.timeouts)
  const objects = createObjects(client, options.prefix)
  const cache = await openCache(options.cache.folder, options.cache.maxBytes)
  const beOwner = createOwnership(objects, options.owner)
  const { writeMs, readMs } = client.timeouts
  return {
    blobs: ({ folder, isForCallers = false, isUnique = false }: Kind): Blobs =>
      createS3Blobs({ objects, cache, beOwner, folder, isUnique, withinMs: isForCallers ? writeMs : readMs }),
    close: objects.close,
  }
}

export async function openS3Blobs(options: S3Options): Promise<Blobs & { close(): void }> {
  const { blobs, close } = await openS3Store(options)
  return { ...blobs({ folder: 'blobs' }), close }
}

type Parts = {
  objects: Objects
  cache: Cache
  beOwner(): Promise<void>
  folder: string
  isUnique: boolean
  /** For how long a download is begun again. */
  withinMs: number
}

function createS3Blobs({ objects, cache, beOwner, folder, isUnique, withinMs }: Parts): Blobs {
  const uploads = createUploads(objects)
  const inTurn = createTurns()
  const { borrow, damaged } = createDownloads({ objects, cache, withinMs, nameOf: (digest) => namesOf(digest).blob })

  function namesOf(digest: Digest) {
    checkDigest(digest)
    const hex = digest.slice('sha256:'.length)
    const name = `${hex.slice(0, 2)}/${hex}`
    return { blob: `${folder}/${name}`, mark: `${folder}-put/${name}`, removing: `${folder}-removing/${name}` }
  }

  async function store(draft: string, digest: Digest, bytes: number) {
    const names = namesOf(digest)
    if (isUnique) return uploads.send(draft, names.blob, bytes)
    for (;;) {
      await objects.put(names.mark, NOTHING)
      await uploads.send(draft, names.blob, bytes, { isAnew: damaged.has(digest) })
      damaged.delete(digest)
      if (!(await isBeingRemoved())) return
      while (await isBeingRemoved()) await wait(LOOK_AGAIN_MS)
    }

    async function isBeingRemoved(): Promise<boolean> {
      const removal = await objects.head(names.removing)
      return removal !== undefined && removal.ageMs < REMOVED_AFTER_MS
    }
  }

  async function wasPutSince(digest: Digest, time: number): Promise<boolean> {
    const { mark, blob } = namesOf(digest)
    const found = (isUnique ? undefined : await objects.head(mark)) ?? (await objects.head(blob))
    return found !== undefined && Date.now() - found.ageMs >= time
  }

  /** False if it was put meanwhile. */
  async function removeMarked(digest: Digest, unless?: { putSince: number }): Promise<boolean> {
    const names = namesOf(digest)
    await objects.put(names.removing, NOTHING)
    try {
      if (unless && (await wasPutSince(digest, unless.putSince))) return false
      await objects.remove(names.blob)
      await objects.remove(names.mark)
    } finally {
      await objects.remove(names.removing)
    }
    return true
  }

  return {
    async has(digest) {
      return (await objects.head(namesOf(digest).blob)) !== undefined
    },
    async put(source, check) {
      const draft = cache.draft()
      try {
        const { digest, bytes } = await writeDraft(draft, source, { sync: false })
        await check?.(draft)
        await inTurn(digest, () => store(draft, digest, bytes))
        await cache.add(draft, digest, bytes)
        await cache.trim()
        return { digest, bytes }
      } finally {
        await cache.discard(draft)
      }
    },
    async lend(source, use) {
      const draft = cache.draft()
      try {
        await writeDraft(draft, source, { sync: false })
        return await use(draft)
      } finally {
        await cache.discard(draft)
      }
    },
    async open(digest) {
      const { file, release } = await borrow(digest)
      const bytes = createReadStream(file)
      // What could not be removed now is removed by the next sweep.
      bytes.once('close', () => release().catch(() => undefined))
      return bytes
    },
    async withFile(digest, use) {
      const { file, release } = await borrow(digest)
      try {
        return await use(file)
      } finally {
        await release()
      }
    },
    async list() {
      await beOwner()
      const found = await objects.list(`${folder}/`)
      return found.flatMap(({ name }): Digest[] => {
        const hex = /^[0-9a-f]{2}\/([0-9a-f]{64})$/.exec(name.slice(`${folder}/`.length))?.[1]
        return hex ? [`sha256:${hex}`] : []
      })
    },
    async remove(digest, unless) {
      await beOwner()
      return inTurn(digest, async () => {
        if (unless && (await wasPutSince(digest, unless.putSince))) return false
        if (isUnique) await objects.remove(namesOf(digest).blob)
        else if (!(await removeMarked(digest, unless))) return false
        await cache.remove(digest)
        return true
      })
    },
    async sweep() {
      await cache.sweep()
      await beOwner()
      await uploads.sweep(`${folder}/`)
      for (const { name, ageMs } of await objects.list(`${folder}-removing/`)) {
        if (ageMs > ABANDONED_AFTER_MS) await objects.remove(name)
      }
    },
  }
}

const NOTHING = Buffer.alloc(0)
