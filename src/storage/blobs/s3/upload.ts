/**
 * Sends a local file as an object: a small one at once, a large one in parts, each of which is sent again by itself if it
 * fails. What cannot be ended is aborted; the parts of a process that died are left to `sweepUploads`.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { freeBuffers } from '../../../base/index.ts'
import { ABANDONED_AFTER_MS } from '../drafts.ts'
import type { Objects } from './objects.ts'

const PART_BYTES = 8 * 1024 * 1024
/** S3 takes 10,000. */
const MAX_PARTS = 9000
const PARTS_AT_ONCE = 3

export function createUploads(objects: Objects) {
  const ours = new Set<string>()

  async function inParts(file: FileHandle, name: string, bytes: number) {
    const partBytes = Math.max(PART_BYTES, Math.ceil(bytes / MAX_PARTS))
    const count = Math.ceil(bytes / partBytes)
    const etags = Array.from({ length: count }, () => '')
    const uploadId = await objects.startUpload(name)
    ours.add(uploadId)
    let next = 0
    let isFailing = false

    /** Takes one part after the other, in the same memory. */
    async function sendParts() {
      const memory = Buffer.allocUnsafeSlow(partBytes)
      while (next < count && !isFailing) {
        const index = next++
        const body = await readAt(file, memory, index * partBytes, Math.min(partBytes, bytes - index * partBytes))
        etags[index] = await objects.putPart(name, uploadId, index + 1, body).catch((error) => {
          isFailing = true
          throw error
        })
        freeBuffers()
      }
    }

    try {
      const sending = Array.from({ length: Math.min(PARTS_AT_ONCE, count) }, sendParts)
      const failed = (await Promise.allSettled(sending)).find((ended) => ended.status === 'rejected')
      if (failed) throw failed.reason
      await objects.finishUpload(name, uploadId, etags)
    } catch (error) {
      // If this fails as well, the store is away; `sweep` removes the parts later.
      await objects.abortUpload(name, uploadId).catch(() => undefined)
      throw error
    } finally {
      ours.delete(uploadId)
    }
  }

  return {
    /** `isAnew`: the object is replaced, as it is known to be damaged. */
    async send(path: string, name: string, bytes: number, { isAnew = false } = {}) {
      const file = await open(path)
      try {
        if (bytes <= PART_BYTES) {
          await objects.put(name, await readAt(file, Buffer.allocUnsafeSlow(bytes), 0, bytes), { isOnce: !isAnew })
          return
        }
        const there = isAnew ? undefined : await objects.head(name)
        if (there?.bytes === bytes) return
        if (isAnew) await objects.remove(name)
        await inParts(file, name, bytes)
      } finally {
        await file.close()
      }
    },

    /** Aborts uploads of processes that died. */
    async sweep(under: string) {
      for (const { key, uploadId, ageMs } of await objects.unfinishedUploads(under)) {
        if (ageMs > ABANDONED_AFTER_MS && !ours.has(uploadId)) await objects.abortUpload(key, uploadId)
      }
    },
  }
}

async function readAt(file: FileHandle, memory: Buffer, from: number, bytes: number): Promise<Buffer> {
  let filled = 0
  while (filled < bytes) {
    const { bytesRead } = await file.read(memory, filled, bytes - filled, from + filled)
    if (bytesRead === 0) throw new Error('a draft became shorter while it was sent')
    filled += bytesRead
  }
  return memory.subarray(0, bytes)
}
