/** A response that says when it begins: every answer of node:http goes through `writeHead`, and through it once. */
import { type IncomingMessage, ServerResponse } from 'node:http'

export class CountedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  onHead: ((status: number) => void) | undefined

  // biome-ignore lint/suspicious/noExplicitAny: the arguments are those of node:http, in all their forms
  override writeHead(...given: any[]): this {
    super.writeHead(...(given as Parameters<ServerResponse['writeHead']>))
    this.onHead?.(this.statusCode)
    return this
  }
}
