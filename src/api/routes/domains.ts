import { type DomainList, type Domains, domainsEtag, type Environments } from '../../apps/index.ts'
import { Problem, resources, schema } from '../../contract/index.ts'
import type { ReplaceDomains, SiteUrl } from '../../deployments/index.ts'
import type { DomainChecks } from '../../reach/index.ts'
import { environmentOf } from '../environment-of.ts'
import { isFromThisMachine } from '../loopback.ts'
import { preconditionsOf } from '../preconditions.ts'
import { type Route, route } from '../route.ts'

const DOMAINS = '/v1/accounts/{account}/apps/{app}/environments/{environment}/domains'
const tag = 'Domains'

type Parts = {
  environments: Environments
  domains: Domains
  replaceDomains: ReplaceDomains
  domainChecks: DomainChecks
  siteUrl: SiteUrl
}

export const domainRoutes = ({ environments, domains, replaceDomains, domainChecks, siteUrl }: Parts): Route[] => [
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
    audited: 'CHANGE_DOMAINS',
    body: resources.newDomains,
    takesEtag: true,
    reply: resources.domains,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'DOMAIN_TAKEN', 'ACCOUNT_LIMIT', 'NOT_READY'],
    async handle({ account, params: { app, environment }, body, request }) {
      const preconditions = preconditionsOf(request, body)
      const at = { account, appName: app, environmentId: environment }
      return toList(environment, await replaceDomains(at, body, preconditions))
    },
  }),
  route({
    method: 'GET',
    path: `${DOMAINS}:check`,
    tag,
    summary:
      'Check whether the custom host names of an environment lead here and with which certificate they are answered, and what to enter in DNS',
    access: 'viewer',
    query: schema.object({
      fresh: schema.optional(
        schema.boolean({ description: 'Ask again where the last answer is older than 10 seconds, instead of 60.' }),
      ),
    }),
    reply: resources.domainChecks,
    problems: ['ENVIRONMENT_NOT_FOUND', 'TOO_MANY_CHECKS'],
    async handle({ account, params, query }) {
      const { id, hostLabel } = await environments.require(account.id, params.app, params.environment)
      const { names } = await domains.read(id)
      // An environment that is being created has no host name yet.
      const ownHost = hostLabel ? new URL(siteUrl(hostLabel)).hostname : 'localhost'
      return domainChecks.check({ accountId: account.id, ownHost, domains: names, isFresh: query.fresh ?? false })
    },
  }),
  /**
   * The question that Caddy asks before it gets a certificate (`on_demand_tls`, `ask`): a GET with the name in
   * `domain`, where any status but 2xx means no. It sends no credentials, so only callers on this machine are answered.
   */
  route({
    method: 'GET',
    path: '/v1/domains:allowed',
    tag,
    summary: 'Let a proxy on this machine ask whether a site answers on a host name, so that it may get a certificate',
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
