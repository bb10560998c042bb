import { describeApi } from '../docs/openapi.ts'
import { renderDocs } from '../docs/page.ts'
import { type Route, route } from '../route.ts'

const tag = 'Documentation'

/** Describes all other routes and itself, so the list of routes is passed as a function. */
export function documentationRoutes({ all, publicUrl }: { all: () => Route[]; publicUrl: () => string }): Route[] {
  // Made at the first request: neither changes while the service runs.
  let json: string | undefined
  let page: string | undefined

  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      tag,
      summary: 'This API as an OpenAPI 3.1 document',
      access: 'public',
      reply: { mediaType: 'application/json' },
      handle({ reply }) {
        reply.type('application/json; charset=utf-8')
        json ??= JSON.stringify(describeApi(all(), publicUrl()))
        return json
      },
    }),
    route({
      method: 'GET',
      path: '/docs',
      tag,
      summary: 'This API as a page to read',
      access: 'public',
      reply: { mediaType: 'text/html' },
      handle({ reply }) {
        reply.type('text/html; charset=utf-8')
        reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
        page ??= renderDocs(describeApi(all(), publicUrl()))
        return page
      },
    }),
  ]
}
