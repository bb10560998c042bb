import type { Environments } from '../../../apps/index.ts'
import type { Clock } from '../../../base/index.ts'
import { LIMITS, type names, resources } from '../../../contract/index.ts'
import type { ConnectedRepositories, PushHooks } from '../../../repositories/index.ts'
import { askedBy } from '../../asked.ts'
import { environmentOf } from '../../environment-of.ts'
import { preconditionsOf } from '../../preconditions.ts'
import { type Route, route } from '../../route.ts'

const REPOSITORY = '/v1/accounts/{account}/apps/{app}/environments/{environment}/repository'
const tag = 'Repositories'

type Parts = {
  clock: Clock
  environments: Environments
  connectedRepositories: ConnectedRepositories
  pushHooks: PushHooks
  publicUrl(): string
}

export const repositoryRoutes = ({
  clock,
  environments,
  connectedRepositories: repositories,
  pushHooks,
  publicUrl,
}: Parts): Route[] => [
  route({
    method: 'GET',
    path: REPOSITORY,
    tag,
    summary: 'Show the repository that an environment follows, what was last fetched, and what went wrong',
    access: 'viewer',
    reply: resources.repository,
    problems: ['ENVIRONMENT_NOT_FOUND', 'REPOSITORY_NOT_FOUND'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      return repositories.get(at, publicUrl())
    },
  }),
  route({
    method: 'POST',
    path: REPOSITORY,
    tag,
    summary: 'Connect a repository: its branch is fetched and deployed; the secret of its hook is in this answer only',
    access: 'developer',
    audited: 'CONNECT_REPOSITORY',
    body: resources.newRepository,
    reply: resources.issuedRepository,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'REPOSITORY_EXISTS'],
    handle: (call) => {
      const { account, params, body: given } = call
      const ref = { account, appName: params.app, environmentId: params.environment }
      return repositories.connect(ref, { given, publicUrl: publicUrl(), asked: askedBy(call, 'DEPLOY', clock) })
    },
  }),
  route({
    method: 'PATCH',
    path: REPOSITORY,
    tag,
    summary: 'Change how a repository is followed; another address, branch, token or key is tried at once',
    access: 'developer',
    audited: 'CHANGE_REPOSITORY',
    body: resources.changedRepository,
    takesEtag: true,
    reply: resources.repository,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'REPOSITORY_NOT_FOUND'],
    handle: ({ account, params: { app, environment }, body: given, request }) =>
      repositories.change(
        { account, appName: app, environmentId: environment },
        { given, preconditions: preconditionsOf(request, given), publicUrl: publicUrl() },
      ),
  }),
  route({
    method: 'DELETE',
    path: REPOSITORY,
    tag,
    summary: 'Disconnect the repository; what is live stays',
    access: 'developer',
    audited: 'DISCONNECT_REPOSITORY',
    takesEtag: true,
    reply: resources.empty,
    problems: ['ENVIRONMENT_NOT_FOUND', 'REPOSITORY_NOT_FOUND'],
    async handle(call) {
      const { path } = await environmentOf(environments, call)
      await repositories.disconnect(path.environmentId, preconditionsOf(call.request))
      return {}
    },
  }),
  route({
    method: 'POST',
    path: `${REPOSITORY}:fetch`,
    tag,
    summary: 'Fetch and deploy the branch now, also if its commit was deployed before',
    access: 'developer',
    audited: 'FETCH_REPOSITORY',
    body: resources.empty,
    bodyIsOptional: true,
    reply: resources.repository,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'REPOSITORY_NOT_FOUND'],
    handle: (call) => {
      const { account, params } = call
      const ref = { account, appName: params.app, environmentId: params.environment }
      return repositories.fetch(ref, { publicUrl: publicUrl(), asked: askedBy(call, 'DEPLOY', clock) })
    },
  }),
  route({
    method: 'POST',
    path: `${REPOSITORY}:regenerate`,
    tag,
    summary: 'Make a new secret for the hook; calls with the old one are refused at once',
    access: 'developer',
    audited: 'REGENERATE_REPOSITORY_SECRET',
    body: resources.empty,
    bodyIsOptional: true,
    reply: resources.issuedRepository,
    problems: ['ENVIRONMENT_NOT_FOUND', 'ENVIRONMENT_DELETING', 'REPOSITORY_NOT_FOUND'],
    handle: ({ account, params: { app, environment } }) =>
      repositories.regenerate({ account, appName: app, environmentId: environment }, publicUrl()),
  }),
  route({
    method: 'POST',
    path: `/wh${REPOSITORY}:push`,
    tag,
    summary: 'Call of GitHub, GitLab, Gitea, Forgejo or Bitbucket after a push, signed with the secret of the hook',
    access: 'public',
    takesBytes: LIMITS.hookBytes,
    reply: resources.pushAnswer,
    problems: ['WEBHOOK_REFUSED', 'BODY_TOO_LARGE', 'JSON_MALFORMED', 'TOO_MANY_TRIGGERS', 'TOO_MANY_GUESSES'],
    handle({ params: { account, app, environment }, body, request }) {
      const { headers, ip: address } = request
      const at: names.EnvironmentPath = { account, app, environment }
      const userAgent = headers['user-agent'] ?? ''
      return pushHooks.call({ at, headers, body: body as unknown as Buffer, address, userAgent })
    },
  }),
]
