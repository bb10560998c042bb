/**
 * The portal: its files, and its one page for every address that people see in their browser. Addresses of API routes are
 * never answered here.
 *
 * The headers let the page do only what it needs: its own scripts and styles, calls to its own origin. No other page may
 * show it in a frame, and it sends no referrer.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Portal } from '../portal/index.ts'
import { html } from './docs/html.ts'
import { sendFile } from './send-file.ts'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  // Text never becomes script: the one URL from which a script starts a worker passes a policy of this name.
  "require-trusted-types-for 'script'",
  'trusted-types headland',
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()',
}

/** No account has a name this short, so no page of the portal has one of these prefixes. */
const API = /^\/(?:v1|fu|wh)(?:[/?]|$)/

export function createPortalFiles(portal: Portal) {
  function page(reply: FastifyReply, request: FastifyRequest) {
    const now = portal.now()
    const index = now.state === 'ready' ? now.files.get('/index.html') : undefined
    if (index) return sendFile(request, reply, index, HEADERS)
    const isBuilding = now.state === 'building'
    reply.headers({ ...HEADERS, 'content-security-policy': "default-src 'none'; style-src 'none'" })
    reply
      .code(503)
      .header('retry-after', isBuilding ? 2 : 60)
      .type('text/html; charset=utf-8')
    return reply.send(isBuilding ? BUILDING : FAILED)
  }

  return {
    /** Answers with the page if a browser requests an address that is not the API's; returns whether it did. */
    answersPage(request: FastifyRequest, reply: FastifyReply): boolean {
      const isReading = request.method === 'GET' || request.method === 'HEAD'
      if (!isReading || API.test(request.url) || !request.headers.accept?.includes('text/html')) return false
      page(reply, request)
      return true
    },

    register(app: FastifyInstance, otherwise: (request: FastifyRequest, reply: FastifyReply) => unknown) {
      app.get('/', (request, reply) => page(reply, request))
      app.get('/assets/*', (request, reply) => {
        const now = portal.now()
        const file = now.state === 'ready' ? now.files.get(request.url.split('?', 1)[0] ?? '') : undefined
        return file ? sendFile(request, reply, file, HEADERS) : otherwise(request, reply)
      })
    },
  }
}

const BUILDING = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="2">
<title>The portal is being built</title></head>
<body><h1>The portal is being built</h1>
<p>This happens once after each change and takes a few seconds. The page then loads by itself.</p></body>
</html>`.text

/** The cause is only in the log: it may name folders of this machine, and this page is public. */
const FAILED = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>The portal could not be built</title></head>
<body><h1>The portal could not be built</h1>
<p>The API and all sites work. The log of the service says why. The operator can mend it: run <code>npm ci</code> in the
folder of Headland, then start it again.</p></body>
</html>`.text
