/**
 * Forwards requests for the host of the portal to the API, over its Unix socket, on which it believes what the edge says of the
 * visitor. The edge knows nothing of their content, and stores none of the answers.
 */
import { Agent, type IncomingMessage, request as sendRequest } from 'node:http'
import { pipeline } from 'node:stream'
import type { Forwarded } from '../http/forwarded.ts'
import { expectsContinue, hasBody, toClient, toUpstream } from '../http/headers.ts'
import { PAGES, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'

export type PortalSettings = { host: string; socketPath: string }

const MAX_FREE = 16
/** An upload is answered when it is stored, which may take long for a large one. */
const ANSWER_MS = 10 * 60 * 1000

export function createPortal({ host, socketPath }: PortalSettings, forwarded: Forwarded) {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_FREE })

  return {
    isAt: (asked: string): boolean => asked === host,

    forward({ request, response, authority, path }: Visit) {
      const isRepeatable = !hasBody(request) && (request.method === 'GET' || request.method === 'HEAD')
      ask(isRepeatable)

      function ask(mayRepeat: boolean) {
        const asked = sendRequest({
          socketPath,
          agent,
          method: request.method,
          path,
          headers: toUpstream(request, authority, forwarded.visitorOf(request)),
          timeout: ANSWER_MS,
        })
        asked.on('timeout', () => asked.destroy())
        asked.on('response', reply)
        if (expectsContinue(request)) asked.on('continue', () => response.writeContinue())
        asked.on('error', () => {
          if (response.destroyed) return
          // The API may have closed a kept connection before it read the request, as at its restart.
          if (mayRepeat && asked.reusedSocket && !response.headersSent) return ask(false)
          sendPage(response, PAGES.restarting)
        })
        response.once('close', () => asked.destroy())
        if (hasBody(request)) pipeline(request, asked, () => undefined)
        else asked.end()
      }

      function reply(received: IncomingMessage) {
        const { headers } = toClient(received.rawHeaders)
        response.writeHead(received.statusCode ?? 502, received.statusMessage, headers)
        response.flushHeaders()
        pipeline(received, response, (error) => error && response.destroy())
      }
    },

    close: () => agent.destroy(),
  }
}

export type PortalProxy = ReturnType<typeof createPortal>
