/** What a version answered for a page, as far as it is compared and shown. */
import type { resources } from '../../contract/index.ts'

export type Answer = {
  /** Undefined if no answer came: then `problem` says why. */
  status: number | undefined
  /** Without parameters, in lower case. */
  contentType: string | undefined
  /** Where it redirects to: the path and query if that is on its own host, else the whole address. */
  location: string | undefined
  /** Of the body, as far as it was read. */
  bytes: number
  /** Whether the body ended, in time and within the limit of what is read. */
  end: 'WHOLE' | 'TOO_LONG' | 'TOO_SLOW' | 'BROKEN_OFF'
  milliseconds: number
  problem: string | undefined
  /** The body of an HTML document, or of any with `keepsText`. It is never stored. */
  text: string | undefined
}

export const noAnswer = (problem: string, milliseconds: number): Answer => ({
  status: undefined,
  contentType: undefined,
  location: undefined,
  bytes: 0,
  end: 'BROKEN_OFF',
  milliseconds,
  problem,
  text: undefined,
})

/** Asks one version for a path. It rejects by the signal only. Undefined if another host answers, which is never asked. */
export type Ask = (path: string, options: AskOptions) => Promise<Answer | undefined>

/** `isHead`: the body is not read. */
export type AskOptions = { signal: AbortSignal; timeoutMs: number; isHead?: boolean; keepsText?: boolean }

const MAX_TYPE = 100
const MAX_LOCATION = 300

/** As it is stored and shown. */
export function shownAnswer(answer: Answer): resources.PageAnswer {
  const { status, contentType, location, bytes, milliseconds, problem } = answer
  return {
    ...(status === undefined ? {} : { status, bytes }),
    ...(contentType === undefined ? {} : { contentType: contentType.slice(0, MAX_TYPE) }),
    ...(location === undefined ? {} : { location: location.slice(0, MAX_LOCATION) }),
    milliseconds: Math.round(milliseconds),
    ...(problem === undefined ? {} : { problem }),
  }
}

/** From a record of an earlier check. Its body is taken for whole: it was compared when it was recorded. */
export function recordedAnswer(shown: resources.PageAnswer): Answer {
  const { status, contentType, location, bytes = 0, milliseconds, problem } = shown
  const end = problem === undefined ? 'WHOLE' : status === undefined ? 'BROKEN_OFF' : 'TOO_SLOW'
  return { status, contentType, location, bytes, end, milliseconds, problem, text: undefined }
}

/**
 * Of a `Location` header. Another host stays visible, and is never asked; so does one of its own for the same page, as that is no
 * redirect to itself.
 */
export function locationOf(value: string, path: string, hosts: ReadonlySet<string>): string {
  try {
    const base = new URL(path, `http://${[...hosts][0] ?? 'localhost'}`)
    const url = new URL(value, base)
    const isOwn = (url.protocol === 'http:' || url.protocol === 'https:') && hosts.has(url.host)
    const target = url.pathname + url.search
    const isOtherName = target === path && url.hostname !== base.hostname
    return (isOwn && !isOtherName ? target : url.href).slice(0, MAX_LOCATION)
  } catch {
    return value.slice(0, MAX_LOCATION)
  }
}
