/**
 * Passes a request on to an instance and its response back, both as streams: what one side does not take, the other is
 * not asked for.
 *
 *   waiting    for a place at the instance
 *   asking     the request is on its way; a fault here is a page of ours
 *   replying   the response is on its way; a fault here breaks the connection off, so that nobody takes half for whole
 *   over       nothing leads out
 */
import { type ClientRequest, type IncomingMessage, request as sendRequest } from 'node:http'
import { forwardStatus } from '../cache/fields/cache-status.ts'
import type { Forwarded } from '../http/forwarded.ts'
import { expectsContinue, hasBody, toClient, toUpstream } from '../http/headers.ts'
import { PAGES, type Page, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { ServerTarget } from '../routes.ts'
import type { InFlight } from './in-flight.ts'
import { connectTo, type Pools } from './pools.ts'

type OnReply = (status: number, headers: readonly string[]) => void

type Parts = { limits: Limits; inFlight: InFlight; pools: Pools; forwarded: Forwarded }

export function createProxy({ limits, inFlight, pools, forwarded }: Parts) {
  return {
    /** `onReply` is told what the instance says before the client is. */
    forward({ request, response, authority, path }: Visit, target: ServerTarget, onReply?: OnReply) {
      const pool = pools.of(target)
      const isStreamed = hasBody(request)
      let stage: 'waiting' | 'asking' | 'replying' | 'over' = 'waiting'
      let upstream: ClientRequest | undefined
      let mayRepeat = !isStreamed && (request.method === 'GET' || request.method === 'HEAD')

      const timeout = setTimeout(() => giveUp(PAGES.late), limits.responseStartMs)
      response.once('close', leave)
      inFlight.begin(target, response)
      const place = pool.enter(() => ask(true))
      if (!place) giveUp(PAGES.busy)

      function ask(isPooled: boolean) {
        // A place became free for one that was told no a moment ago, and is still being told.
        if (stage === 'over') return
        stage = 'asking'
        const asked = start(isPooled)
        if (!asked) return giveUp(PAGES.badRequest)
        upstream = asked
        let bytesBefore = 0
        asked.once('socket', (socket) => {
          bytesBefore = socket.bytesRead
        })
        asked.once('response', reply)
        asked.once('upgrade', (_reply, socket) => {
          // Nobody asked for one.
          socket.destroy()
          giveUp(PAGES.badGateway)
        })
        asked.on('error', () => {
          // In the middle of a response, the response says it too.
          if (stage !== 'asking' || asked !== upstream) return
          // A connection that was kept may have been closed by the other side just now, before it saw the request.
          const wasStale = asked.reusedSocket && asked.socket?.bytesRead === bytesBefore
          if (!wasStale || !mayRepeat) return giveUp(PAGES.badGateway)
          mayRepeat = false
          ask(false)
        })
        if (expectsContinue(request)) asked.once('continue', () => response.writeContinue())
        if (!isStreamed) return void asked.end()
        request.on('data', () => timeout.refresh())
        // A client that breaks off is noticed by the response's `close`.
        request.on('error', () => undefined)
        request.pipe(asked)
        // Together with the first bytes of the body where they are there already, else alone: somebody may wait for them.
        setImmediate(() => {
          if (!request.readableDidRead && !asked.destroyed) asked.flushHeaders()
        })
      }

      /** Undefined when the request has something in it that cannot be said again. */
      function start(isPooled: boolean): ClientRequest | undefined {
        try {
          return sendRequest({
            host: target.host,
            port: target.port,
            method: request.method,
            path,
            headers: toUpstream(request, authority, forwarded.visitorOf(request)),
            maxHeaderSize: limits.responseHeaderBytes,
            ...(isPooled ? { agent: pool.agent } : { createConnection: () => connectTo(target) }),
          })
        } catch {
          return undefined
        }
      }

      function reply(received: IncomingMessage) {
        if (stage !== 'asking') return void received.destroy()
        const { headers, isEventStream } = toClient(received.rawHeaders)
        onReply?.(received.statusCode ?? 0, received.rawHeaders)
        headers.push('Cache-Status', forwardStatus({ why: 'method' }))
        try {
          response.writeHead(received.statusCode ?? 0, received.statusMessage, headers)
        } catch {
          // A status or a reason that Node's parser lets in and its writer does not let out.
          return giveUp(PAGES.badGateway)
        }
        stage = 'replying'
        clearTimeout(timeout)
        if (isEventStream) place?.becomeStream()
        received.on('error', () => response.destroy())
        received.pipe(response)
        setImmediate(() => {
          const hasBegun = received.readableDidRead || response.writableEnded || response.destroyed
          if (!hasBegun) response.flushHeaders()
        })
      }

      function giveUp(page: Page) {
        stage = 'over'
        clearTimeout(timeout)
        sendPage(response, page)
        upstream?.destroy()
      }

      function leave() {
        stage = 'over'
        clearTimeout(timeout)
        inFlight.end(target, response)
        place?.leave()
        if (!response.writableFinished) return void upstream?.destroy()
        if (request.complete) return
        // Answered before it was asked in full: the rest is of no use to anybody.
        if (upstream) request.unpipe(upstream)
        upstream?.destroy()
        request.resume()
      }
    },
  }
}
