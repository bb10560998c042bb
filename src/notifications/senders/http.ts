/** Sends a message by one HTTP call, and judges the answer. */
import { printableLine } from '../../base/index.ts'
import { type Egress, EgressFailed, EgressRefused, type HttpAnswer } from '../../egress/index.ts'
import { retryAfterMs } from '../backoff.ts'
import { MAX_ERROR_LENGTH, type Result } from './result.ts'

type Call = { url: string; body: string; headers: Record<string, string>; signal: AbortSignal }

const TIMEOUT_MS = 20_000
/** Of an answer, which is read for what it says of an error. */
const MAX_ANSWER_BYTES = 1024
/** Statuses below 500 after which the same call may succeed later. */
const PASSING: readonly number[] = [408, 425, 429]
const GONE = 410

export function createHttpSender({ egress, now }: { egress: Pick<Egress, 'send'>; now(): number }) {
  return async ({ url, body, headers, signal }: Call): Promise<Result> => {
    try {
      const answer = await egress.send(
        { method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, body },
        { maxBytes: MAX_ANSWER_BYTES, timeoutMs: TIMEOUT_MS, signal },
      )
      return judge(answer, url, now())
    } catch (error) {
      if (error instanceof EgressRefused) return { isDelivered: false, error: error.message }
      if (error instanceof EgressFailed) return { isDelivered: false, mayPass: true, error: error.message }
      throw error
    }
  }
}

export function judge({ status, headers, body }: HttpAnswer, url: string, now: number): Result {
  if (status >= 200 && status < 300) return { isDelivered: true, status }
  const mayPass = status >= 500 || PASSING.includes(status)
  const pauseMs = mayPass ? retryAfterMs(headers['retry-after'], now) : undefined
  const what = status >= 300 && status < 400 ? 'It answered with a redirect, which is not followed.' : ''
  const words = what || withoutSecrets(printableLine(body.toString('utf8')), url)
  return {
    isDelivered: false,
    status,
    mayPass,
    error: words.slice(0, MAX_ERROR_LENGTH),
    ...(pauseMs === undefined ? {} : { pauseMs }),
    ...(status === GONE ? { isGone: true } : {}),
  }
}

const MIN_SECRET_LENGTH = 6

/** An answer may repeat the address that was called, which is a secret, whole or in parts. */
export function withoutSecrets(text: string, url: string): string {
  const { pathname, search, searchParams } = new URL(url)
  const parts = [url, `${pathname}${search}`, pathname, ...pathname.split('/'), ...searchParams.values()]
  const secrets = parts.flatMap((part) => [part, decoded(part)]).filter(({ length }) => length >= MIN_SECRET_LENGTH)
  return secrets.sort((a, b) => b.length - a.length).reduce((left, secret) => left.replaceAll(secret, '[secret]'), text)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
