/** Tools that read: apps, environments, builds, deployments, requests, pages. */
import { ACCOUNT, type Deployment, ENVIRONMENT, type Environment } from '../../../client/index.ts'
import { schema } from '../../../contract/index.ts'
import { environmentAt } from '../../commands/trace.ts'
import { atAccount, lastPart } from '../../project/where.ts'
import { facts } from '../results.ts'
import { AT_APP, AT_ENVIRONMENT, atEnvironmentOf, callWith, type Given, option, type Tool } from '../tool.ts'

const MAX_ENVIRONMENTS = 100
const MAX_STORED = 10
const MAX_EVENTS = 30

const limit = { limit: option.number('How many, the newest first; 20 unless given.', 50) }

export const READING_TOOLS: readonly Tool[] = [
  {
    name: 'list_environments',
    title: 'List apps and environments',
    description:
      'Lists the environments of an account with their apps, addresses and states, and apps without environments.',
    kind: 'reads',
    input: schema.object(AT_APP),
    run: (context, given) => listEnvironments(context.call, given, context.signal),
  },
  {
    name: 'show_environment',
    title: 'Show an environment',
    description: 'Shows an environment: its address, what is live, its newest build, its domains and settings.',
    kind: 'reads',
    input: schema.object(AT_ENVIRONMENT),
    run: (context, given) => atEnvironmentOf(context, given, async ({ environment }) => facts(shown(environment))),
  },
  {
    name: 'list_variables',
    title: 'List variables',
    description: 'Lists the names and kinds of the variables of an environment. Values are never shown.',
    kind: 'reads',
    input: schema.object(AT_ENVIRONMENT),
    run: (context, given) =>
      atEnvironmentOf(context, given, async ({ title, environment: { shellVariables } }) =>
        facts({ environment: title, variables: shellVariables.map(({ key, kind }) => ({ key, kind })) }),
      ),
  },
  {
    name: 'list_deployments',
    title: 'List deployments',
    description: 'Lists the deployments of an environment: which is live, and which can be made live again.',
    kind: 'reads',
    input: schema.object({ ...limit, ...AT_ENVIRONMENT }),
    run: (context, given) =>
      atEnvironmentOf(context, given, async ({ title, service: { client }, names }) => {
        const asked = { path: names, limit: given.limit ?? 20, signal: context.signal }
        const { items, hasMore } = await client.first(`GET ${ENVIRONMENT}/deployments`, asked)
        return facts({ environment: title, deployments: items.map(deployment), hasMore })
      }),
  },
  {
    name: 'list_requests',
    title: 'List requests of visitors',
    description: 'Lists the last requests of visitors to an environment: status, time, and what the cache did.',
    kind: 'reads',
    input: schema.object({
      status: option.text('Only those with this status, as `500` or `5xx`.', 3),
      path: option.text('Only those of this path, where `*` stands for any characters.', 500),
      id: option.text('The one with this request id.', 64),
      limit: option.number('How many, the newest first; 50 unless given.', 200),
      ...AT_ENVIRONMENT,
    }),
    run: (context, given) =>
      atEnvironmentOf(context, given, async ({ title, service: { client }, names }) => {
        const { status, path, id, limit = 50 } = given
        const asked = { path: names, query: { status, path, id }, limit, signal: context.signal }
        const { items, hasMore } = await client.first(`GET ${ENVIRONMENT}/requests`, asked)
        return facts({ environment: title, requests: items.map(({ client: _, ...request }) => request), hasMore })
      }),
  },
  {
    name: 'trace_page',
    title: 'Trace a page',
    description:
      'Explains why visitors see what they see at an address: what the cache holds, what is live, what the app answers now, and what led there.',
    kind: 'reads',
    input: schema.object({
      url: schema.string({
        description: 'A path as `/news`, or a whole address of a site.',
        minLength: 1,
        maxLength: 2000,
      }),
      ...AT_ENVIRONMENT,
    }),
    async run({ call, signal }, given) {
      const { service, names: path } = await environmentAt({ ...callWith(call, given), positionals: [given.url] })
      try {
        const found = await service.client.call(`GET ${ENVIRONMENT}:trace`, { path, query: { url: given.url }, signal })
        const { stored, timeline, ...more } = found
        return facts({ ...more, stored: stored.slice(0, MAX_STORED), timeline: timeline.slice(-MAX_EVENTS) })
      } finally {
        service.connection.agent.destroy()
      }
    },
  },
]

async function listEnvironments(call: Parameters<typeof callWith>[0], given: Given, signal: AbortSignal) {
  const { service, account } = await atAccount(callWith(call, given))
  try {
    const { client } = service
    const path = { account }
    const environments = await client.first(`GET ${ACCOUNT}/apps/-/environments`, {
      path,
      limit: MAX_ENVIRONMENTS,
      signal,
    })
    const apps = await client.first(`GET ${ACCOUNT}/apps`, { path, limit: MAX_ENVIRONMENTS, signal })
    const isWanted = (name: string) => given.app === undefined || name.split('/')[3] === given.app
    return facts({
      account,
      apps: apps.items
        .filter(({ name }) => isWanted(name))
        .map((app) => ({ app: lastPart(app), region: lastPart({ name: app.region }) })),
      environments: environments.items.filter(({ name }) => isWanted(name)).map(inShort),
      hasMore: environments.hasMore || apps.hasMore,
    })
  } finally {
    service.connection.agent.destroy()
  }
}

const idIn = (name: string | undefined): string | undefined => (name ? lastPart({ name }) : undefined)

const inShort = ({ name, displayName, url, state, latestBuild, deployment, preview }: Environment) => ({
  app: name.split('/')[3],
  environment: displayName,
  id: lastPart({ name }),
  url,
  state,
  live: idIn(deployment),
  newestBuild: latestBuild && { build: idIn(latestBuild.name), state: latestBuild.state },
  isPreview: preview === undefined ? undefined : true,
})

export const shown = (environment: Environment) => ({
  ...inShort(environment),
  cmsEnvironment: environment.cmsEnvironment,
  rootDirectory: environment.rootDirectory,
  domains: environment.domains,
  isBeingChanged: environment.reconciling,
  // A rollback makes rebuilds build an older archive, which surprises where it is not known.
  pin: environment.pin,
  freshness: environment.freshness,
  variables: environment.shellVariables.map(({ key }) => key),
})

const deployment = (one: Deployment) => ({
  deployment: lastPart(one),
  state: one.state,
  build: idIn(one.build),
  message: one.message,
  commit: one.commit?.sha,
  trigger: one.trigger,
  by: one.requestedBy?.name,
  liveTime: one.liveTime,
  canBeMadeLive: one.activatable,
})
