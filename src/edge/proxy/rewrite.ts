/**
 * Sends a request for a static site on to another host, where a rule of the site says so and the operator allows the
 * host. Both bodies are streamed with backpressure, and nothing is stored.
 *
 *   asking     the request is being sent; a fault here leads to an error page
 *   replying   the response is being sent; a fault here aborts it, so that no client takes a part for the whole
 *   over       final
 */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as sendHttp } from 'node:http'
import { Agent as HttpsAgent, request as sendHttps } from 'node:https'
import type { Socket } from 'node:net'
import { type AllowedHosts, isAllowedHost } from '../../http/index.ts'
import { forwardStatus } from '../cache/fields/cache-status.ts'
import type { Forwarded } from '../http/forwarded.ts'
import { expectsContinue, hasBody, toClient, toUpstream } from '../http/headers.ts'
import { PAGES, type Page, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import { createQuota } from '../quota.ts'
import type { StaticTarget } from '../routes.ts'

type Parts = { limits: Limits; forwarded: Forwarded }

/** How we name ourselves to other hosts (RFC 9110, section 7.6.3): a request that has it came back to us. */
const VIA = '1.1 headland'

export function createRewriteProxy({ limits, forwarded }: Parts) {
  const options = { keepAlive: true, timeout: limits.idleUpstreamMs, maxFreeSockets: 32 }
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  const quota = createQuota({
    max: limits.rewrites,
    maxPerOwner: limits.rewritesPerEnvironment,
    reserved: limits.rewritesReserved,
  })
  let allowed: AllowedHosts = []

  return {
    /** The hosts that requests may be sent to. A rule was checked when it was compiled, but the setting may have changed. */
    allow(hosts: AllowedHosts) {
      allowed = hosts
    },

    forward(visit: Visit, { environment }: StaticTarget, { origin, path }: { origin: string; path: string }) {
      const { request, response } = visit
      if (!isAllowedHost(allowed, origin)) return sendPage(response, PAGES.notAllowed)
      if (request.headers.via?.split(',').some((hop) => hop.trim() === VIA)) return sendPage(response, PAGES.circle)
      if (!quota.take(environment)) return sendPage(response, PAGES.busy)
      let stage: 'asking' | 'replying' | 'over' = 'asking'
      let asked: ClientRequest | undefined
      let mayRepeat = !hasBody(request) && (request.method === 'GET' || request.method === 'HEAD')
      const timer = setTimeout(() => giveUp(PAGES.late), limits.responseStartMs)
      response.once('close', leave)
      ask(true)

      function ask(isPooled: boolean) {
        const started = start(isPooled)
        if (!started) return giveUp(PAGES.badRequest)
        asked = started
        started.once('socket', watchErrors)
        started.once('response', reply)
        started.once('upgrade', (_reply, socket) => {
          // The request asked for no upgrade.
          socket.destroy()
          giveUp(PAGES.badGateway)
        })
        started.on('error', () => {
          if (stage !== 'asking' || started !== asked) return
          // The other host may have closed a kept-alive connection before it read the request.
          if (!started.reusedSocket || !mayRepeat) return giveUp(PAGES.badGateway)
          mayRepeat = false
          ask(false)
        })
        if (expectsContinue(request)) started.once('continue', () => response.writeContinue())
        if (!hasBody(request)) return void started.end()
        request.on('data', () => timer.refresh())
        // When the client disconnects, the response emits `close`.
        request.on('error', () => undefined)
        request.pipe(started)
      }

      /** Undefined when Node refuses to send the request on, for example for a character in its path. */
      function start(isPooled: boolean): ClientRequest | undefined {
        const { protocol, hostname, port, host } = new URL(origin)
        const isSecure = protocol === 'https:'
        const send = isSecure ? sendHttps : sendHttp
        try {
          return send({
            host: hostname,
            ...(port === '' ? {} : { port }),
            method: request.method,
            path,
            headers: headersFor(host),
            maxHeaderSize: limits.responseHeaderBytes,
            agent: isPooled && (isSecure ? agents.https : agents.http),
          })
        } catch {
          return undefined
        }
      }

      /** Those that an app gets, with the other host's own name. */
      function headersFor(host: string): string[] {
        const [, , ...others] = toUpstream(request, visit.authority, forwarded.visitorOf(request))
        return ['host', host, ...others, 'via', VIA]
      }

      function reply(received: IncomingMessage) {
        if (stage !== 'asking') return void received.destroy()
        const { headers } = toClient(received.rawHeaders)
        headers.push('Cache-Status', forwardStatus({ why: 'bypass', detail: 'rewrite' }))
        try {
          response.writeHead(received.statusCode ?? 0, received.statusMessage, headers)
        } catch {
          // Node's parser accepts some statuses and reasons that its writer refuses.
          return giveUp(PAGES.badGateway)
        }
        stage = 'replying'
        clearTimeout(timer)
        received.setTimeout(limits.rewriteIdleMs, () => received.destroy(new Error('the other host sent nothing')))
        received.on('error', () => response.destroy())
        received.pipe(response)
        response.flushHeaders()
      }

      function giveUp(page: Page) {
        stage = 'over'
        clearTimeout(timer)
        sendPage(response, page)
        asked?.destroy()
      }

      function leave() {
        stage = 'over'
        clearTimeout(timer)
        quota.giveBack(environment)
        if (!response.writableFinished) return void asked?.destroy()
        if (request.complete) return
        // The response was complete before the request was: the rest of the request is discarded.
        if (asked) request.unpipe(asked)
        asked?.destroy()
        request.resume()
      }
    },
  }
}

export type RewriteProxy = ReturnType<typeof createRewriteProxy>

/** Between two requests Node has no listener on a connection for a moment, and an error then would end the process. */
function watchErrors(socket: Socket) {
  if (!socket.listeners('error').includes(alreadyHandled)) socket.on('error', alreadyHandled)
}

/** The request that uses the connection has a listener of its own. */
const alreadyHandled = () => undefined
