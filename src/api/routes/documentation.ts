import { renderDocs } from '../docs-page.ts'
import { describeApi } from '../openapi.ts'
import { type Route, route } from '../route.ts'

const tag = 'Documentation'

/** Describes all other routes and itself: hence the list as a function. */
export const documentationRoutes = ({ all, publicUrl }: { all: () => Route[]; publicUrl: () => string }): Route[] => [
  route({
    method: 'GET',
    path: '/openapi.json',
    tag,
    summary: 'This API as an OpenAPI 3.1 document',
    access: 'public',
    reply: { mediaType: 'application/json' },
    handle({ reply }) {
      reply.type('application/json; charset=utf-8')
      return JSON.stringify(describeApi(all(), publicUrl()))
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
      return renderDocs(describeApi(all(), publicUrl()))
    },
  }),
]
