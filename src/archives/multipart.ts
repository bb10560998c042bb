/**
 * A multipart/form-data body with one file in it, as the bytes of that file. They are streamed with backpressure; the stream
 * ends only once the whole form has been parsed without an error.
 *
 * reading → over     the body has ended, and the form with it
 * reading → failed   by the client, by a limit, or by a call of `close`
 *
 * In both cases the body is paused with the rest of it unread. The caller decides what happens to the rest.
 */
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { Problem } from '../contract/index.ts'
import type { ArchiveLimits } from './limits.ts'
import { createTimeout } from './read-timeout.ts'
import { printable, tooLarge } from './refusals.ts'

const PART_NAME = 'repository'
/** Boundaries, the part's header, and what a form may have before and after them. */
const MAX_AROUND_FILE_BYTES = 64 * 1024
const BUFFER_BYTES = 256 * 1024

export type Form = {
  /** To be read once. Throws the Problem that the upload failed by. */
  file: AsyncIterable<Buffer>
  /** Must be called in the end, whatever happened; does nothing when the form is over. */
  close(): void
}

/** Checks the Content-Length, before a byte of the body is read. */
export function expectBody(bytes: number, limits: ArchiveLimits) {
  if (bytes > maxOf(limits)) throw tooLarge('archiveBytes', limits)
}

const maxOf = ({ archiveBytes }: ArchiveLimits): number => archiveBytes + MAX_AROUND_FILE_BYTES

export function openForm(
  body: Readable,
  contentType: string | undefined,
  limits: ArchiveLimits,
  signal?: AbortSignal,
): Form {
  const parser = createParser(boundaryOf(contentType))
  const part = Promise.withResolvers<Readable>()
  const end = Promise.withResolvers<void>()
  const timeout = createTimeout(limits.stallMs, () => fail(new Problem('UPLOAD_TOO_SLOW')))
  let bodyBytes = 0
  let isSettled = false

  function settle() {
    isSettled = true
    timeout.pause()
    body.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
    body.pause()
    // A later error of the body does not matter, but an error without a listener ends the process.
    body.on('error', ignore)
    signal?.removeEventListener('abort', onAbort)
  }

  function fail(reason: unknown) {
    if (isSettled) return
    settle()
    end.reject(reason)
    part.reject(reason)
    part.promise.then((file) => file.destroy(reason as Error), ignore)
  }

  function onData(chunk: Buffer) {
    bodyBytes += chunk.length
    if (bodyBytes > maxOf(limits)) return fail(tooLarge('archiveBytes', limits))
    timeout.received(chunk.length)
    if (isSettled || parser.write(chunk) || isSettled) return
    body.pause()
    timeout.pause()
  }

  function onDrain() {
    if (isSettled) return
    timeout.resume()
    body.resume()
  }

  function onEnd() {
    timeout.pause()
    // The parser reports a form without an end some ticks after it has taken the last byte.
    parser.end(() => setImmediate(onParsed))
  }

  function onParsed() {
    if (isSettled) return
    settle()
    part.reject(new Problem('PART_MISSING'))
    end.resolve()
  }

  function onBroken(cause?: Error) {
    if (!body.readableEnded) fail(new Problem('UPLOAD_INTERRUPTED', undefined, { cause }))
  }

  function onAbort() {
    fail(signal?.reason)
  }

  // Every part is treated as a file, so that its name and kind are known before its content comes.
  parser.on('file', (...[name, file, fileName, , type]) => {
    file.on('error', ignore)
    if (name !== PART_NAME) return fail(unexpected(`a part named ${printable(name ?? '')}`))
    const isFile = fileName !== undefined || type === 'application/octet-stream'
    if (!isFile) return fail(new Problem('PART_MISSING', 'The part named repository is not a file.'))
    part.resolve(file)
  })
  parser.on('partsLimit', () => fail(unexpected('more than one part')))
  parser.on('error', (cause) => fail(new Problem('MULTIPART_MALFORMED', undefined, { cause })))
  parser.on('drain', onDrain)
  for (const { promise } of [part, end]) promise.catch(ignore)

  async function* read() {
    const file = await part.promise
    let bytes = 0
    try {
      for await (const chunk of file) {
        bytes += chunk.length
        if (bytes > limits.archiveBytes) throw tooLarge('archiveBytes', limits)
        yield chunk as Buffer
      }
    } catch (error) {
      // The form may have the reason why its file ended early.
      fail(error)
      await end.promise
      throw error
    }
    await end.promise
  }

  body.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
  signal?.addEventListener('abort', onAbort)
  timeout.resume()
  if (signal?.aborted) onAbort()
  else if (body.destroyed || body.readableEnded) fail(new Problem('UPLOAD_INTERRUPTED'))

  return { file: read(), close: () => fail(new Error('the form was closed')) }
}

const ignore = () => undefined

const unexpected = (found: string): Problem =>
  new Problem(
    'PART_UNEXPECTED',
    `The form has ${found}; it must have one file part named ${PART_NAME} and nothing else.`,
  )

/** RFC 2046, 5.1.1: what a boundary may be made of. */
const BOUNDARY = /;\s*boundary=(?:"([\w'()+,\-./:=? ]{1,70})"|([\w'()+,\-./:=?]{1,70}))\s*(?:;|$)/i

function boundaryOf(contentType = ''): string {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined || !/^multipart\/form-data\s*;/i.test(contentType)) {
    throw new Problem('CONTENT_TYPE_UNSUPPORTED', 'An upload is multipart/form-data, with a boundary.')
  }
  return boundary
}

const createParser = (boundary: string): BusboyInstance =>
  new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    isPartAFile: () => true,
    limits: { parts: 1, headerPairs: 32, headerSize: 8 * 1024 },
    highWaterMark: BUFFER_BYTES,
    fileHwm: BUFFER_BYTES,
  })
