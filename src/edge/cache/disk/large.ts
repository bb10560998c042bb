/**
 * An object that is too large for a segment: a file of its own, written as it comes and read by ranges. It counts once a
 * record refers to it; until then it is a stray, and the next opening of the folder removes it.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, createReadStream, createWriteStream, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Place } from './index.ts'
import { isMissing } from './marker.ts'

export type LargeWriter = {
  /**
   * The chunk is not copied: it must not change any more. A promise is to be awaited before the next chunk. False: the
   * object is not kept, and what comes after is in vain.
   */
  write(chunk: Buffer): boolean | Promise<boolean>
  /** Undefined: not kept. */
  finish(meta: string): Promise<Place | undefined>
  /** Resolves when nothing is left of it. Nobody has to wait for that. */
  abort(): Promise<void>
}

type Parts = {
  folder: string
  /** Asked before so many more bytes are written. */
  mayGrow(bytes: number): boolean
  /** The file is complete. */
  keep(meta: string, name: string, bytes: number): Place | undefined
  /** It is not kept. The file, if there is one, is closed. */
  discard(name: string, bytes: number): void
  failed(error: unknown): void
}

const NAME = /^[0-9a-f]{32}\.large$/
/** So much of an object waits in memory for the disk. */
const WAITING_BYTES = 512 * 1024

export function createLargeWriter({ folder, mayGrow, keep, discard, failed }: Parts): LargeWriter {
  const name = `${randomBytes(16).toString('hex')}.large`
  const file = createWriteStream(join(folder, name), { flags: 'wx', mode: 0o600, highWaterMark: WAITING_BYTES })
  const waiting: ((isGoingOn: boolean) => void)[] = []
  let bytes = 0
  let isGivenUp = false

  // What was on its way when we gave up fails as well, and is no fault of the disk.
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

  function wake(isGoingOn: boolean) {
    for (const resolve of waiting.splice(0)) resolve(isGoingOn)
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
      // Why it failed has been told by then.
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

/** Up to and without `end`. Undefined when the file is gone. What is not read to its end must be destroyed. */
export function readRange(folder: string, name: string, start: number, end: number): Readable | undefined {
  if (start === end) return Readable.from([])
  const fd = openUnlessMissing(join(folder, name))
  if (fd === undefined) return undefined
  if (fstatSync(fd).size < end) {
    closeSync(fd)
    return undefined
  }
  // From here on the file may be removed: whoever reads it has it open.
  return createReadStream('', { fd, start, end: end - 1 })
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
