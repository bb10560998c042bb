/** Sends a visitor to another host name of the same site, with the path and query that were asked for. */
import type { Visit } from './visit.ts'

/**
 * 308 keeps the method and the body. The location has no scheme, so the visitor keeps the current one: whether a proxy
 * in front terminates TLS need not be known here. It is revalidated each time, because the owner may remove the
 * redirect.
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
