/** Answers visitors: finds the target by host name. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import { PAGES, type Page, render } from './pages.ts'
import { findTarget, NO_ROUTES, type Routes, type Target } from './routes.ts'

export type EdgeServer = { http: Server; useRoutes(routes: Routes): void }

export function createEdgeServer(): EdgeServer {
  let routes = NO_ROUTES

  const http = createServer({ keepAliveTimeout: 65_000, headersTimeout: 20_000 }, (request, response) => {
    const target = findTarget(routes, request.headers.host)
    if (!target) return sendPage(response, PAGES.unknownHost)
    send(response, target)
  })

  http.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    else socket.destroy()
  })

  return {
    http,
    useRoutes(next) {
      routes = next
    },
  }
}

function send(response: ServerResponse, target: Target) {
  switch (target.kind) {
    case 'empty':
      return sendPage(response, PAGES.nothingDeployed)
  }
}

function sendPage(response: ServerResponse, page: Page) {
  const body = render(page)
  response.writeHead(page.status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'x-content-type-options': 'nosniff',
  })
  response.end(body)
}
