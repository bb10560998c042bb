/** One answered request, as it is recorded. It has no value of a query, no whole address of a client and no header. */

/** In the words of Cache-Status (RFC 9211); `static` is a file of a static deployment, `none` a page of the edge itself. */
export type CacheResult = 'hit' | 'stale' | 'miss' | 'bypass' | 'static' | 'none'

/**
 * `complete`: the whole response was sent. `aborted`: the visitor left before that. `broken`: the app or the edge ended it in
 * the middle.
 */
export type Outcome = 'complete' | 'aborted' | 'broken'

export type RequestRecord = {
  /** When the response ended. */
  time: number
  method: string
  /** As the client wrote it, without the query, up to a length. */
  path: string
  /** The names of the parameters of the query, up to a number and a length. */
  parameters?: string[]
  /** 0: the visitor left before the response began. */
  status: number
  /** From the end of the request's head until the response was sent. */
  durationMs: number
  /** Headers included. */
  bytes: number
  cache: CacheResult
  outcome: Outcome
  /** The address of the client, and in a report only its network; undefined where a proxy in front does not tell it. */
  client?: string
  /** The visitor got it with an error. */
  id?: string
  /** Requests of about the same time that were not recorded. */
  omitted?: number
}

const MAX_PATH_LENGTH = 512
const MAX_PARAMETERS = 10
const MAX_PARAMETER_LENGTH = 40

/** `target` is the path with its query. */
export function readTarget(target: string): Pick<RequestRecord, 'path' | 'parameters'> {
  const query = target.indexOf('?')
  const path = shorten(target.slice(0, query < 0 ? target.length : query), MAX_PATH_LENGTH)
  if (query < 0 || query === target.length - 1) return { path }
  const parameters = namesIn(target.slice(query + 1, query + 1 + MAX_QUERY_LENGTH))
  return parameters.length > 0 ? { path, parameters } : { path }
}

/** The names in a longer query are not read to its end. */
const MAX_QUERY_LENGTH = 2048

function namesIn(query: string): string[] {
  const names = new Set<string>()
  for (const pair of query.split('&')) {
    const end = pair.indexOf('=')
    // Without `=` it may be a value: `?4f3a…` is the token of a download.
    const name = end > 0 ? pair.slice(0, end) : ''
    if (name !== '') names.add(shorten(name, MAX_PARAMETER_LENGTH))
    if (names.size === MAX_PARAMETERS) break
  }
  return [...names]
}

/** Bytes that a terminal or a page might not show as they are become percent-encoded. */
function shorten(text: string, maxLength: number): string {
  const shown = copyOf(text.slice(0, maxLength)).replace(NOT_PRINTED, toPercent)
  return text.length > maxLength ? `${shown}…` : shown
}

/** A slice would keep the whole request in memory. */
const copyOf = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

const NOT_PRINTED = /[^\x21-\x7e]/g
const toPercent = (byte: string): string => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

/** From the value of Cache-Status; undefined where the response has none. */
export function cacheResultOf(cacheStatus: string | undefined): CacheResult {
  if (cacheStatus === undefined) return 'none'
  if (cacheStatus.includes('; hit')) {
    if (cacheStatus.endsWith('; detail=file')) return 'static'
    return /; ttl=-|; detail=stale-/.test(cacheStatus) ? 'stale' : 'hit'
  }
  const why = /; fwd=([a-z-]+)/.exec(cacheStatus)?.[1]
  if (why === undefined) return 'none'
  return why === 'bypass' || why === 'method' ? 'bypass' : 'miss'
}
