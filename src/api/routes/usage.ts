import type { Environments } from '../../apps/index.ts'
import { resources } from '../../contract/index.ts'
import type { Counts, Usage } from '../../retention/index.ts'
import { environmentOf } from '../environment-of.ts'
import { type Route, route } from '../route.ts'

const tag = 'Usage'

type Parts = { environments: Environments; usage: Usage; counts: Counts }

export const usageRoutes = ({ environments, usage, counts }: Parts): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/usage',
    tag,
    summary: 'Read the usage and the limits of an account: disk space and everything else that is limited',
    access: 'viewer',
    reply: resources.accountUsage,
    handle: async ({ account }) => ({ ...(await usage.ofAccount(account)), ceilings: await counts(account.id) }),
  }),
  route({
    method: 'GET',
    path: '/v1/accounts/{account}/apps/{app}/environments/{environment}/usage',
    tag,
    summary: 'Read how much disk space an environment uses, by kind',
    access: 'viewer',
    reply: resources.environmentUsage,
    problems: ['ENVIRONMENT_NOT_FOUND'],
    async handle(call) {
      const { at } = await environmentOf(environments, call)
      return usage.ofEnvironment(call.account.id, at)
    },
  }),
]
