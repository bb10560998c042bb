/**
 * Forwards a request to an instance and its response back, both as streams with backpressure.
 *
 *   waiting    for a place at the instance
 *   asking     the request is being sent; a fault here leads to an error page
 *   replying   the response is being sent; a fault here aborts it, so that no client takes a part for the whole
 *   over       final
 */

import { type ClientRequest, type IncomingMessage, request as sendRequest } from 'node:http'
import { forwardStatus } from '../cache/fields/cache-status.ts'
import type { NewestPurges } from '../cache/index.ts'
import type { Forwarded } from '../http/forwarded.ts'
import { expectsContinue, hasBody, toClient, toUpstream } from '../http/headers.ts'
import { PAGES, type Page, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { ServerTarget } from '../routes.ts'
import type { InFlight } from './in-flight.ts'
import { connectTo, type Pools } from './pools.ts'

type OnReply = (status: number, headers: readonly string[]) => void

type Parts = {
  limits: Limits
  inFlight: InFlight
  pools: Pools
  forwarded: Forwarded
  newestPurges: NewestPurges
}

export function createProxy({ limits, inFlight, pools, forwarded, newestPurges }: Parts) {
  return {
    /** `onReply` gets the status and headers of the instance before the client does. */
    forward({ request, response, authority, path, isFromJob }: Visit, target: ServerTarget, onReply?: OnReply) {
      const pool = pools.of(target)
      const isStreamed = hasBody(request)
      let stage: 'waiting' | 'asking' | 'replying' | 'over' = 'waiting'
      let upstream: ClientRequest | undefined
      let mayRepeat = !isStreamed && (request.method === 'GET' || request.method === 'HEAD')

      const timeout = setTimeout(() => giveUp(PAGES.late), limits.responseStartMs)
      response.once('close', leave)
      inFlight.begin(target, response)
      const place = pool.enter(() => ask(true), { isFromJob })
      if (!place) giveUp(PAGES.busy)

      function ask(isPooled: boolean) {
        // A place became free while the request is being refused.
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
          // The request asked for no upgrade.
          socket.destroy()
          giveUp(PAGES.badGateway)
        })
        asked.on('error', () => {
          // Once the response has begun, it emits the error as well.
          if (stage !== 'asking' || asked !== upstream) return
          // The instance may have closed a kept-alive connection before it read the request.
          const wasStale = asked.reusedSocket && asked.socket?.bytesRead === bytesBefore
          if (!wasStale || !mayRepeat) return giveUp(PAGES.badGateway)
          mayRepeat = false
          ask(false)
        })
        if (expectsContinue(request)) asked.once('continue', () => response.writeContinue())
        if (!isStreamed) return void asked.end()
        request.on('data', () => timeout.refresh())
        // When the client disconnects, the response emits `close`.
        request.on('error', () => undefined)
        request.pipe(asked)
        // Together with the first bytes of the body if they are there already, else alone: the instance may wait for
        // the head.
        setImmediate(() => {
          if (!request.readableDidRead && !asked.destroyed) asked.flushHeaders()
        })
      }

      /** Undefined when Node refuses to send the request on, for example for a character in its path. */
      function start(isPooled: boolean): ClientRequest | undefined {
        try {
          return sendRequest({
            host: target.host,
            port: target.port,
            method: request.method,
            path,
            headers: toUpstream(request, authority, forwarded.visitorOf(request), { purge: newestPurges.of(target) }),
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
          // Node's parser accepts some statuses and reasons that its writer refuses.
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
        // The response was complete before the request was: the rest of the request is discarded.
        if (upstream) request.unpipe(upstream)
        upstream?.destroy()
        request.resume()
      }
    },
  }
}

export type RequestProxy = ReturnType<typeof createProxy>
