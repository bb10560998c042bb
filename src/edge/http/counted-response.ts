/** A response that reports when it begins, and can change its headers then: every one of node:http calls `writeHead` once. */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'

export class CountedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  onHead: ((status: number) => void) | undefined
  /** Gets and returns a list `[name, value, …]`. */
  changeHeaders: ((headers: readonly string[]) => string[]) | undefined

  // biome-ignore lint/suspicious/noExplicitAny: the arguments are those of all overloads of node:http
  override writeHead(...given: any[]): this {
    const sent = this.changeHeaders ? changed(given, this.changeHeaders) : given
    super.writeHead(...(sent as Parameters<ServerResponse['writeHead']>))
    this.onHead?.(this.statusCode)
    return this
  }
}

type Headers = readonly string[] | OutgoingHttpHeaders | undefined

/** The headers are the last argument; a reason may stand before them. */
function changed([status, ...given]: unknown[], change: (headers: readonly string[]) => string[]): unknown[] {
  const reason = typeof given[0] === 'object' ? undefined : given[0]
  const headers = given.find((one) => typeof one === 'object') as Headers
  return [status, ...(reason === undefined ? [] : [reason]), change(toList(headers))]
}

const isList = (headers: Headers): headers is readonly string[] => Array.isArray(headers)

function toList(headers: Headers): readonly string[] {
  if (headers === undefined || isList(headers)) return headers ?? []
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))
}
