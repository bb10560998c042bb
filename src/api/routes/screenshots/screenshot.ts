/** A picture of what visitors of a site see, for the members of its account. */
import type { Environments } from '../../../apps/index.ts'
import { hasEntityTag } from '../../../http/index.ts'
import type { Screenshots } from '../../../screenshots/index.ts'
import { type Route, route } from '../../route.ts'

const HEADERS = {
  // It is asked for again each time, with its etag.
  'cache-control': 'private, no-cache',
  // A program of a tenant has had a part in it: opened by itself, it may do nothing.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

type Parts = { environments: Pick<Environments, 'requireWhole'>; screenshots: Screenshots }

export const screenshotRoutes = ({ environments, screenshots }: Parts): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/apps/{app}/environments/{environment}/screenshot',
    tag: 'Environments',
    summary: 'Read a picture of the live site, where this service takes pictures',
    access: 'viewer',
    reply: { mediaType: 'image/png' },
    problems: ['ENVIRONMENT_NOT_FOUND', 'SCREENSHOT_NOT_FOUND'],
    async handle({ account, params: { app, environment }, request, reply }) {
      const found = await environments.requireWhole(account.id, app, environment)
      const { png, etag } = await screenshots.of(found)
      const retryAfter = screenshots.retryAfter(found.id)
      reply.headers({ ...HEADERS, etag, ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) })
      if (hasEntityTag(request.headers['if-none-match'], etag)) return reply.code(304).send()
      reply.type('image/png')
      return png
    },
  }),
]
