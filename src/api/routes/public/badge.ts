/** The state of an environment as a picture, for README files and dashboards: everyone may see it where it is switched on. */
import type { Badges } from '../../../badges/index.ts'
import { hasEntityTag } from '../../../http/index.ts'
import { type Route, route } from '../../route.ts'

const HEADERS = {
  // Short: it shows a state. Caches ask again with the etag.
  'cache-control': 'public, max-age=30',
  // An SVG that is opened by itself is a page of this origin; this one may do nothing.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
}

export const badgeRoutes = ({ badges }: { badges: Badges }): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/apps/{app}/environments/{environment}/badge.svg',
    tag: 'Environments',
    summary: 'The state of an environment as a picture; for everyone, where its badge is switched on',
    access: 'public',
    reply: { mediaType: 'image/svg+xml' },
    problems: ['ENVIRONMENT_NOT_FOUND', 'TOO_MANY_BADGES'],
    async handle({ params: { account, app, environment }, request, reply }) {
      const { svg, etag } = await badges.of({ account, app, environment }, request.ip)
      reply.headers({ ...HEADERS, etag })
      if (hasEntityTag(request.headers['if-none-match'], etag)) return reply.code(304).send()
      reply.type('image/svg+xml; charset=utf-8')
      return svg
    },
  }),
]
