/**
 * Sends an archive as a form with a Content-Length, so that the service can refuse it before it has received all of it. `fetch`
 * can neither report how much of a body is sent nor read a response that comes before its end; `node:http` can do both.
 */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { addressOf, ENVIRONMENT, type Routes } from '../../client/index.ts'
import type { resources } from '../../contract/index.ts'
import type { SourceArchive } from '../archive/pack.ts'
import { environmentIn } from '../project/resource-names.ts'
import { CallFailed, failureOf, noAnswer, problemOf, unreachable } from './failures.ts'
import type { Service } from './service.ts'

export type UploadOptions = {
  signal: AbortSignal
  /** Starts again at the beginning when a broken connection is retried. */
  onProgress(sentBytes: number, totalBytes: number): void
  isOnlyValidated?: boolean
  /** It goes live also where the check of its pages finds broken ones. */
  isForced?: boolean
  /** The message and the commit of the archive. */
  described?: resources.Described
  pauseMs?: number
  answerMs?: number
  stallMs?: number
}

const UPLOAD = `POST /fu${ENVIRONMENT}:upload` as const

const TRIES = 4
const PAUSE_MS = 1000
const MAX_PAUSE_MS = 15_000
const CHUNK_BYTES = 256 * 1024
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** Counted from when all is sent, or the response has begun: the service reads the whole archive before it answers. */
const MAX_ANSWER_MS = 5 * 60_000
/** The longest time in which the service takes no further byte. */
const MAX_STALL_MS = 5 * 60_000

/**
 * Returns the JSON of the response. A connection that breaks before everything was sent is retried: the service accepts only a
 * complete archive, so nothing can have happened. One that breaks later is not: the archive may have been accepted.
 */
export async function upload<T>(
  service: Service,
  environment: string,
  archive: Pick<SourceArchive, 'path' | 'bytes'>,
  options: UploadOptions,
): Promise<T> {
  const { signal, pauseMs = PAUSE_MS } = options
  for (let tries = 1; ; tries++) {
    const sending = { isWhole: false }
    try {
      return await send<T>({ service, environment, archive, options, sending })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof CallFailed)) throw error
      if (error.status === 0 && sending.isWhole) throw unanswered(service, error)
      if (tries === TRIES || !isWorthARetry(error)) throw error
      const retryAfterMs = error.retryAfterSeconds === undefined ? 0 : error.retryAfterSeconds * 1000
      await pause(Math.min(Math.max(retryAfterMs, pauseMs * 2 ** (tries - 1)), MAX_PAUSE_MS), undefined, { signal })
    }
  }
}

const isWorthARetry = ({ status, reason }: CallFailed): boolean =>
  status === 0 || (problemOf(reason)?.retryable ?? [502, 503, 504].includes(status))

const unanswered = ({ url }: Service, { message }: CallFailed): CallFailed =>
  noAnswer(
    `${url} has the whole archive, but its answer was lost (${message}). 'headland builds' shows whether it is being built.`,
  )

type Attempt = {
  service: Service
  environment: string
  archive: Pick<SourceArchive, 'path' | 'bytes'>
  options: UploadOptions
  /** Set once the whole body was sent. */
  sending: { isWhole: boolean }
}

async function send<T>({ service, environment, archive, options, sending }: Attempt): Promise<T> {
  const { signal, onProgress, answerMs = MAX_ANSWER_MS, stallMs = MAX_STALL_MS } = options
  const boundary = `headland-${randomUUID()}`
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="repository"; filename="app.zip"\r\nContent-Type: application/zip\r\n\r\n`
  const tail = `\r\n--${boundary}--\r\n`
  const { path } = addressOf(UPLOAD, environmentIn(environment), queryOf(options))
  const url = new URL(`${service.url}${path}`)
  const ask = url.protocol === 'https:' ? httpsRequest : httpRequest
  const request = ask(url, {
    method: 'POST',
    agent: service.connection.agent,
    headers: {
      'user-agent': 'headland',
      ...service.authorization,
      accept: 'application/json',
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + archive.bytes + tail.length,
    },
  })
  request.setTimeout(stallMs, () => request.destroy(new Error('it takes no more')))
  let overdue: NodeJS.Timeout | undefined
  const answered = answerTo(request)
  // It may reject at any time, and is awaited below.
  answered.catch(() => undefined)
  const leave = () => request.destroy()
  signal.addEventListener('abort', leave, { once: true })
  try {
    await sendBody()
    overdue = setTimeout(() => request.destroy(new Error('it does not answer')), answerMs)
    const answer = await answered
    const text = await textOf(answer)
    if (answer.statusCode === 200) return JSON.parse(text) as T
    const { url, connection } = service
    throw failureOf({ url, status: answer.statusCode ?? 0, headers: headersOf(answer), text, proxy: connection.proxy })
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof CallFailed ? error : unreachable(service.url, error, service.connection.proxy)
  } finally {
    clearTimeout(overdue)
    signal.removeEventListener('abort', leave)
    request.destroy()
  }

  /** Resolves when all is sent, when there is a response already, or when the connection is lost. */
  async function sendBody() {
    const over = Promise.withResolvers<'over'>()
    answered.then(
      () => over.resolve('over'),
      () => over.resolve('over'),
    )
    const write = (piece: Buffer | string) =>
      Promise.race([
        over.promise,
        new Promise<'sent'>((resolve) => request.write(piece, (error) => error ?? resolve('sent'))),
      ])
    if ((await write(head)) === 'over') return
    let sent = 0
    for await (const chunk of createReadStream(archive.path, { highWaterMark: CHUNK_BYTES })) {
      if ((await write(chunk)) === 'over') return
      sent += chunk.length
      onProgress(sent, archive.bytes)
      // Incoming data is read before more is written: a write to a closed connection fails, and a response that has already
      // arrived would be lost with it.
      await turn()
    }
    await Promise.race([over.promise, new Promise<void>((resolve) => request.end(tail, resolve))])
    sending.isWhole = true
  }
}

function queryOf({ isOnlyValidated, isForced, described }: UploadOptions): Routes[typeof UPLOAD]['query'] {
  const { message, commit } = described ?? { message: '', commit: null }
  return {
    validateOnly: isOnlyValidated || undefined,
    force: isForced || undefined,
    message,
    commit: commit?.sha,
    commitBranch: commit?.branch,
    commitSubject: commit?.subject,
    commitDirty: commit?.isDirty,
  }
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    // An error after the response is ignored.
    request.on('error', reject)
    request.once('close', () => reject(new Error('the connection was closed')))
  })
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of answer) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`its answer has more than ${MAX_ANSWER_BYTES} bytes`)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const headersOf = ({ headers }: IncomingMessage): Headers =>
  new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]))
