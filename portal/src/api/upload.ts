/** Sends an archive, by `XMLHttpRequest`, since `fetch` does not report how much of a body is sent. */
import { PAGE_HEADER, urlOf } from './client.ts'
import { CallFailed, noAnswer, readProblem } from './problem.ts'
import type { Operation } from './types.ts'

type Options = {
  signal: AbortSignal
  /** The message of the upload, or empty. */
  message: string
  onProgress(sent: number, total: number): void
}

const TRIES = 4
const WAIT_MS = 1_000

/**
 * A connection that breaks before everything was sent is retried: the service accepts only complete archives, so the
 * first attempt had no effect.
 */
export async function uploadArchive(environment: string, archive: Blob, options: Options): Promise<Operation> {
  for (let tries = 1; ; tries++) {
    let isAllSent = false
    const onProgress: Options['onProgress'] = (sent, total) => {
      isAllSent = sent >= total
      options.onProgress(sent, total)
    }
    try {
      return await send(environment, archive, { ...options, onProgress })
    } catch (error) {
      const isBroken = error instanceof CallFailed && error.problem.reason === 'NO_ANSWER'
      if (!isBroken || isAllSent || tries === TRIES || options.signal.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
    }
  }
}

function send(environment: string, archive: Blob, { signal, message, onProgress }: Options): Promise<Operation> {
  const form = new FormData()
  form.append('repository', archive, 'app.zip')
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total)
    request.onerror = () => reject(new CallFailed(noAnswer()))
    request.onabort = () => reject(signal.reason)
    request.onload = () => {
      const body = parse(request.responseText)
      if (request.status === 200) return resolve(body as Operation)
      const facts = {
        retryAfter: request.getResponseHeader('retry-after'),
        requestId: request.getResponseHeader('x-request-id'),
      }
      reject(new CallFailed(readProblem(request.status, body, facts)))
    }
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.open('POST', urlOf(`/fu/v1/${environment}:upload`, { message }))
    for (const [name, value] of Object.entries(PAGE_HEADER)) request.setRequestHeader(name, value)
    request.send(form)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
