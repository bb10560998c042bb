/** A response that reports when it begins: every response of node:http calls `writeHead`, exactly once. */
import { type IncomingMessage, ServerResponse } from 'node:http'

export class CountedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  onHead: ((status: number) => void) | undefined

  // biome-ignore lint/suspicious/noExplicitAny: the arguments are those of all overloads of node:http
  override writeHead(...given: any[]): this {
    super.writeHead(...(given as Parameters<ServerResponse['writeHead']>))
    this.onHead?.(this.statusCode)
    return this
  }
}
