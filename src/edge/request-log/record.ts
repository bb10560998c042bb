/**
 * One answered request: what is kept of it for a moment, and what is recorded. A record has no value of a query, no whole
 * address of a client and no header.
 */
import { truncateAddress } from '../../http/index.ts'

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
  /** The network of the client; undefined where a proxy in front of the edge does not report it. */
  client?: string
  /** The visitor got it with an error. */
  id?: string
  /** Requests of about the same time that were not recorded. */
  omitted?: number
}

/** The records of a report, by environment, in the order of their times. */
export type RequestRecords = Record<string, RequestRecord[]>

/** Most requests of a flood are replaced before they are reported. So they are kept as they are, which is cheap. */
export type KeptRequest = Omit<RequestRecord, 'path' | 'parameters' | 'client' | 'id'> & {
  /** Path and query. */
  target: string
  /** Its whole address. */
  client: string | undefined
  id: string | undefined
}

export const toRecord = ({ target, client, id, ...others }: KeptRequest): RequestRecord => ({
  ...others,
  ...readTarget(target),
  ...(client === undefined ? {} : { client: truncateAddress(client) }),
  ...(id === undefined ? {} : { id }),
})

/** A part of a request's text would keep all of that text in memory. */
export const copyOf = (text: string): string =>
  Buffer.from(text.length > MAX_TARGET_LENGTH ? text.slice(0, MAX_TARGET_LENGTH) : text, 'latin1').toString('latin1')

const MAX_PATH_LENGTH = 512
const MAX_PARAMETERS = 10
const MAX_PARAMETER_LENGTH = 40

/** `target` is the path with its query. */
export function readTarget(target: string): Pick<RequestRecord, 'path' | 'parameters'> {
  const query = target.indexOf('?')
  const path = shorten(target.slice(0, query < 0 ? target.length : query), MAX_PATH_LENGTH)
  if (query < 0 || query === target.length - 1) return { path }
  const parameters = namesIn(target.slice(query + 1))
  return parameters.length > 0 ? { path, parameters } : { path }
}

/** Of a longer query, the first names are read. */
const MAX_TARGET_LENGTH = MAX_PATH_LENGTH + 2048

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
  const shown = text.slice(0, maxLength).replace(NOT_PRINTED, toPercent)
  return text.length > maxLength ? `${shown}…` : shown
}

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
