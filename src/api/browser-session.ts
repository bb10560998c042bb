/**
 * What a browser sends by itself, and when it is believed. The service is used by people at one address; the sites of tenants
 * are its neighbours, and may be of the same "site" in the eyes of a browser.
 */
import type { FastifyRequest } from 'fastify'
import { Problem } from '../contract/index.ts'

export const SESSION_COOKIE = 'headland_session'

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

export function createBrowserSession({ publicUrl }: { publicUrl?: string | undefined }) {
  const front = publicUrl === undefined ? undefined : new URL(publicUrl)
  const isHttps = front?.protocol === 'https:'
  // A neighbour can set cookies for the domain they share, but none with this prefix (RFC 6265bis, 4.1.3.2).
  const name = isHttps ? `__Host-${SESSION_COOKIE}` : SESSION_COOKIE
  const attributes = `${ATTRIBUTES}${isHttps ? '; Secure' : ''}`
  const pattern = new RegExp(`(?:^|;\\s*)${name}=([A-Za-z0-9_-]{1,100})(?:;|$)`)

  return {
    /** The value of Set-Cookie; with 0 seconds the cookie goes. */
    cookieFor: (token: string, maxAgeSeconds: number): string =>
      `${name}=${token}; ${attributes}; Max-Age=${maxAgeSeconds}`,

    tokenOf: ({ headers }: FastifyRequest): string | undefined => pattern.exec(headers.cookie ?? '')?.[1],

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
