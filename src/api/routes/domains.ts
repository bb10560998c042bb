import { type DomainList, type Domains, domainsEtag, type Environments } from '../../apps/index.ts'
import { Problem, resources, schema } from '../../contract/index.ts'
import type { ReplaceDomains } from '../../deployments/index.ts'
import { environmentOf } from '../environment-of.ts'
import { isFromThisMachine } from '../loopback.ts'
import { preconditionsOf } from '../preconditions.ts'
import { type Route, route } from '../route.ts'

const DOMAINS = '/v1/accounts/{account}/apps/{app}/environments/{environment}/domains'
const tag = 'Domains'

type Parts = { environments: Environments; domains: Domains; replaceDomains: ReplaceDomains }

export const domainRoutes = ({ environments, domains, replaceDomains }: Parts): Route[] => [
  route({
    method: 'GET',
    path: DOMAINS,
    tag,
    summary: 'List the custom host names of an environment',
    access: 'viewer',
    reply: resources.domains,
    problems: ['ENVIRONMENT_NOT_FOUND'],
    async handle(call) {
      const { environmentId } = (await environmentOf(environments, call)).path
      return toList(environmentId, await domains.read(environmentId))
    },
  }),
  route({
    method: 'POST',
    path: `${DOMAINS}:replace`,
    tag,
    summary:
      'Replace the custom host names of an environment; its site answers at once on those that are given, and no others',
    access: 'developer',
    body: resources.newDomains,
    takesEtag: true,
    reply: resources.domains,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'DOMAIN_TAKEN', 'ACCOUNT_LIMIT', 'NOT_READY'],
    async handle({ account, params: { app, environment }, body, request }) {
      const preconditions = preconditionsOf(request, body)
      return toList(environment, await replaceDomains(account, app, environment, body, preconditions))
    },
  }),
  /**
   * As Caddy asks before it gets a certificate (`on_demand_tls`, `ask`): by GET, the name in `domain`, and any status but
   * 2xx means no. It sends no credentials, so it is answered on this machine only.
   */
  route({
    method: 'GET',
    path: '/v1/domains:allowed',
    tag,
    summary: 'Tell a proxy on this machine whether a site answers on a host name, for which it may get a certificate',
    access: 'public',
    query: schema.object({ domain: schema.string({ maxLength: 254, description: 'The host name.' }) }),
    reply: null,
    problems: ['DOMAIN_NOT_FOUND'],
    async handle({ request, query }) {
      if (!isFromThisMachine(request) || !(await domains.isKnown(query.domain))) throw new Problem('DOMAIN_NOT_FOUND')
    },
  }),
]

const toList = (environmentId: string, list: DomainList): resources.Domains => ({
  domains: list.names,
  redirects: list.redirects,
  nextPageToken: '',
  etag: domainsEtag(environmentId, list),
})
