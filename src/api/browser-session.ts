/**
 * Session cookies, and when they are trusted. People use the service at one host name; the sites of tenants are beside
 * it, and browsers may count them as the same site.
 */
import type { FastifyRequest } from 'fastify'
import { Problem } from '../contract/index.ts'

export const SESSION_COOKIE = 'headland_session'

const TOKEN = /^[A-Za-z0-9_-]{1,100}$/
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

export function createBrowserSession({ publicUrl }: { publicUrl?: string | undefined }) {
  const front = publicUrl === undefined ? undefined : new URL(publicUrl)
  const isHttps = front?.protocol === 'https:'
  // A tenant's site can set cookies for the shared domain, but none with this prefix (RFC 6265bis, 4.1.3.2).
  const name = isHttps ? `__Host-${SESSION_COOKIE}` : SESSION_COOKIE
  const attributes = `${ATTRIBUTES}${isHttps ? '; Secure' : ''}`
  const prefix = `${name}=`

  return {
    /** The value of Set-Cookie; 0 seconds delete the cookie. */
    cookieFor: (token: string, maxAgeSeconds: number): string =>
      `${name}=${token}; ${attributes}; Max-Age=${maxAgeSeconds}`,

    /**
     * Browsers put exactly `; ` between cookies (RFC 6265, 4.2.1). Any other blank belongs to a name: a name that
     * begins with U+00A0 does not have the prefix `__Host-` for a browser, so a tenant's site may set it. If there are
     * two cookies of the name, neither is trusted, since it cannot be known which one is ours.
     */
    tokenOf({ headers }: FastifyRequest): string | undefined {
      const [found, ...more] = (headers.cookie ?? '').split('; ').filter((cookie) => cookie.startsWith(prefix))
      const token = found?.slice(prefix.length) ?? ''
      return more.length === 0 && TOKEN.test(token) ? token : undefined
    },

    /**
     * SameSite=Strict keeps the cookie from other sites' pages; this check also holds where "same site" is wider than "same
     * origin", as it is for the tenants' host names on localhost. A proxy in front may have changed `Host`.
     */
    checkOrigin(request: FastifyRequest) {
      if (request.method === 'GET' || request.method === 'HEAD') return
      const { origin } = request.headers
      const fetchSite = request.headers['sec-fetch-site']
      if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none')
        throw new Problem('ORIGIN_REFUSED')
      if (origin === undefined || origin === front?.origin) return
      if (!URL.canParse(origin) || new URL(origin).host !== request.host) throw new Problem('ORIGIN_REFUSED')
    },
  }
}

export type BrowserSession = ReturnType<typeof createBrowserSession>
