/**
 * An object that is too large for a segment: a separate file, written as the body arrives and read by ranges. It counts
 * once a record refers to it; a file without a record is removed when the folder is opened next.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, createWriteStream, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { OpenPart } from '../../http/send-part.ts'
import { isMissing } from './marker.ts'
import type { LargeWriter, Place } from './types.ts'

type Parts = {
  folder: string
  /** Called before so many more bytes are written. */
  mayGrow(bytes: number): boolean
  /** The file is complete. */
  keep(meta: string, name: string, bytes: number): Place | undefined
  /** The object is not kept. The file, if there is one, is closed. */
  discard(name: string, bytes: number): void
  failed(error: unknown): void
}

const NAME = /^[0-9a-f]{32}\.large$/
/** Bytes of an object that are buffered in memory for a slow disk. */
const WAITING_BYTES = 512 * 1024

export function createLargeWriter({ folder, mayGrow, keep, discard, failed }: Parts): LargeWriter {
  const name = `${randomBytes(16).toString('hex')}.large`
  const file = createWriteStream(join(folder, name), { flags: 'wx', mode: 0o600, highWaterMark: WAITING_BYTES })
  const waiting: ((mayContinue: boolean) => void)[] = []
  let bytes = 0
  let isGivenUp = false

  // Writes that were in flight at an abort fail as well, and are no fault of the disk.
  file.on('error', (error) => isGivenUp || failed(error))
  file.on('drain', () => wake(true))
  const closed = new Promise<void>((resolve) => {
    file.once('close', () => {
      wake(false)
      if (!file.writableFinished) discard(name, bytes)
      resolve()
    })
  })

  function giveUp() {
    isGivenUp = true
    file.destroy()
  }

  function wake(mayContinue: boolean) {
    for (const resolve of waiting.splice(0)) resolve(mayContinue)
  }

  return {
    write(chunk) {
      if (file.destroyed || file.writableEnded) return false
      if (!mayGrow(chunk.length)) {
        giveUp()
        return false
      }
      bytes += chunk.length
      return file.write(chunk) || new Promise((resolve) => waiting.push(resolve))
    },
    async finish(meta) {
      if (file.destroyed || file.writableEnded) return undefined
      file.end()
      // The `error` listener has reported the cause by then.
      const isWhole = await finished(file).then(
        () => true,
        () => false,
      )
      if (!isWhole) return undefined
      const place = keep(meta, name, bytes)
      if (!place) discard(name, bytes)
      return place
    },
    abort() {
      giveUp()
      return closed
    },
  }
}

/** Up to and without `end`. Undefined when the file is gone. From here on it may be removed: it is open. */
export function openPart(folder: string, name: string, start: number, end: number): OpenPart | undefined {
  const descriptor = openUnlessMissing(join(folder, name))
  if (descriptor === undefined) return undefined
  if (fstatSync(descriptor).size < end) {
    closeSync(descriptor)
    return undefined
  }
  return { descriptor, start, end }
}

function openUnlessMissing(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export const isLargeName = (name: string): boolean => NAME.test(name)

/** The body of a record that refers to a large file. */
export const writeLargeReference = (name: string, bytes: number): Buffer => Buffer.from(`${name} ${bytes}`)

export function readLargeReference(body: Buffer | undefined): { name: string; bytes: number } | undefined {
  const [name = '', bytes = ''] = body?.toString('latin1').split(' ') ?? []
  return NAME.test(name) && /^\d+$/.test(bytes) ? { name, bytes: Number(bytes) } : undefined
}
