/** Sends a visitor to another host name of the same site, with the path and query that were asked for. */
import type { Visit } from './visit.ts'

/**
 * 308 keeps the method and the body. The location has no scheme, so the visitor stays with the one in use: what a proxy
 * in front does with TLS need not be known here. It is asked for again each time, since the owner may end the redirect.
 */
export function sendRedirect({ authority, path, response }: Visit, to: string) {
  const [port = ''] = /:\d{1,5}$/.exec(authority) ?? []
  response.writeHead(308, {
    location: `//${to}${port}${path === '*' ? '/' : path}`,
    'cache-control': 'public, max-age=0, must-revalidate',
    'content-length': 0,
  })
  response.end()
}
