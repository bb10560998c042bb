/** A response that reports when it begins, and can change its headers then: every one of node:http calls `writeHead` once. */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** In the headers of errors, where requests are recorded. */
export const REQUEST_ID_HEADER = 'Headland-Request-Id'

/** What is observed of a response, and changed in it, by those who do not write it. */
export type ObservedResponse = ErrorIds & {
  statusCode: number
  readonly writableFinished: boolean
  /** It was ended by the app or the edge, and not by the visitor. */
  isBroken: boolean
  onHead: ((status: number, headers: unknown) => void) | undefined
  onHeaders: ((headers: unknown) => void) | undefined
  identify: ((headers: unknown) => string | undefined) | undefined
  changeHeaders: ((headers: readonly string[]) => string[]) | undefined
  once(event: 'close', listener: () => void): unknown
  prependOnceListener(event: 'finish', listener: () => void): unknown
}

export type ErrorIds = {
  /** Of an error. */
  id: string | undefined
  /** The id of a request that ends in an error; undefined where requests are not recorded. */
  errorId(headers?: unknown): string | undefined
}

export class CountedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Gets the status, and the headers as `writeHead` was given them. */
  onHead: ((status: number, headers: unknown) => void) | undefined
  /** Gets the headers as `writeHead` was given them. */
  onHeaders: ((headers: unknown) => void) | undefined
  /**
   * Makes an id for the log of requests. An error tells it to the visitor, who may quote it. Undefined where the response has
   * none, by the headers that were given.
   */
  identify: ((headers: unknown) => string | undefined) | undefined
  /** Of an error. */
  id: string | undefined
  /** It was ended by the app or the edge, and not by the visitor. */
  isBroken = false
  /** Gets and returns a list `[name, value, …]`. */
  changeHeaders: ((headers: readonly string[]) => string[]) | undefined

  // biome-ignore lint/suspicious/noExplicitAny: the arguments are those of all overloads of node:http
  override writeHead(...given: any[]): this {
    const id = given[0] >= 500 ? this.errorId(given.at(-1)) : undefined
    const shown = id === undefined ? given : withId(given, id)
    const sent = this.changeHeaders ? changed(shown, this.changeHeaders) : shown
    super.writeHead(...(sent as Parameters<ServerResponse['writeHead']>))
    this.onHead?.(this.statusCode, given.at(-1))
    this.onHeaders?.(given.at(-1))
    return this
  }

  override destroy(error?: Error): this {
    if (this.socket?.destroyed === false) this.isBroken = true
    return super.destroy(error)
  }

  /** The id of a request that ends in an error; undefined where requests are not recorded. */
  errorId(headers?: unknown): string | undefined {
    this.id ??= this.identify?.(headers)
    return this.id
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function withId(given: readonly any[], id: string): any[] {
  const headers = given.at(-1)
  if (Array.isArray(headers)) return [...given.slice(0, -1), [...headers, REQUEST_ID_HEADER, id]]
  if (typeof headers === 'object') return [...given.slice(0, -1), { ...headers, [REQUEST_ID_HEADER]: id }]
  return [...given, { [REQUEST_ID_HEADER]: id }]
}

export type Headers = readonly string[] | OutgoingHttpHeaders | undefined

/** The headers are the last argument; a reason may stand before them. */
function changed([status, ...given]: readonly unknown[], change: (headers: readonly string[]) => string[]): unknown[] {
  const reason = typeof given[0] === 'object' ? undefined : given[0]
  const headers = given.find((one) => typeof one === 'object') as Headers
  return [status, ...(reason === undefined ? [] : [reason]), change(toList(headers))]
}

const isList = (headers: Headers): headers is readonly string[] => Array.isArray(headers)

export function toList(headers: Headers): readonly string[] {
  if (headers === undefined || isList(headers)) return headers ?? []
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))
}
