/**
 * Answers a stream of HTTP/2 as a request of HTTP/1.1, on a connection within this process to our own server. So whatever is
 * decided about a request is decided in one place, whichever protocol it came by.
 */
import { Agent, type ClientRequest, type IncomingMessage, type Server, request as sendRequest } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { toHttp2Headers } from './head.ts'
import { connectInMemory, type VisitorConnection } from './memory-socket.ts'
import type { Http2Head } from './plain-request.ts'

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM } = constants

/** Connections that wait for the next stream; further ones are closed with their response. */
const MAX_IDLE = 4

/** For the streams of one visitor's connection. */
export function createTranslator(http: Server, visitor: VisitorConnection) {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE })
  Object.assign(agent, {
    createConnection() {
      const { client, server } = connectInMemory(visitor)
      http.emit('connection', server as unknown as Socket)
      return client
    },
  })

  function translate(stream: ServerHttp2Stream, head: Http2Head) {
    const hasBody = (head.flags & NGHTTP2_FLAG_END_STREAM) === 0
    const asked = ask(head, hasBody)
    if (!asked) return refuse(stream, 400)
    asked.on('response', (response) => reply(stream, response))
    asked.on('continue', () => !stream.destroyed && stream.additionalHeaders({ ':status': 100 }))
    asked.on('information', ({ statusCode, rawHeaders }) => {
      if (statusCode !== 100 && !stream.destroyed) stream.additionalHeaders(toHttp2Headers(statusCode, rawHeaders))
    })
    // `close` would end the stream as if it were complete, and reset it only then.
    asked.on('error', (error) => stream.destroy(error))
    stream.once('close', () => asked.destroy())
    if (hasBody) stream.pipe(asked)
    else asked.end()
  }

  /** Undefined where node:http refuses to write the request, as for a character in its path. */
  function ask({ headers, rawHeaders }: Http2Head, hasBody: boolean): ClientRequest | undefined {
    try {
      return sendRequest({
        agent,
        method: headers[':method'] ?? '',
        path: headers[':path'] ?? '',
        headers: toHttp1Headers(rawHeaders, headers, hasBody),
      })
    } catch {
      return undefined
    }
  }

  return {
    translate,
    /** Ends the connections to our own server, and with them the requests on them. */
    close: () => agent.destroy(),
  }
}

function reply(stream: ServerHttp2Stream, response: IncomingMessage) {
  if (stream.destroyed) return void response.destroy()
  stream.respond(toHttp2Headers(response.statusCode ?? 500, response.rawHeaders))
  // Resets the stream if the response is cut off, so that no client takes a part for the whole.
  pipeline(response, stream, () => undefined)
}

export function refuse(stream: ServerHttp2Stream, status: number) {
  if (stream.destroyed) return
  stream.respond({ ':status': status, 'content-length': 0 }, { endStream: true })
  // What the client still sends is not read.
  if (!stream.readableEnded) stream.close(NGHTTP2_CANCEL)
}

/** The authority becomes the Host header, and cookies become one header again (RFC 9113, section 8.2.3). */
function toHttp1Headers(rawHeaders: readonly string[], headers: Http2Head['headers'], hasBody: boolean): string[] {
  const sent = ['host', headers[':authority'] ?? headers.host ?? '', 'connection', 'keep-alive']
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.startsWith(':') || name === 'host' || name === 'cookie') continue
    sent.push(name, rawHeaders[at + 1] as string)
  }
  if (headers.cookie !== undefined) sent.push('cookie', headers.cookie)
  if (hasBody && headers['content-length'] === undefined) sent.push('transfer-encoding', 'chunked')
  return sent
}
