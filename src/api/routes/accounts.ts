import { names, resources } from '../../contract/index.ts'
import type { Principal } from '../auth.ts'
import { listOf, type Route, route } from '../route.ts'

const tag = 'Accounts'

export const renderAccounts = ({ memberships }: Pick<Principal, 'memberships'>) =>
  memberships.map(({ account, role }) => ({ name: names.accountResource(account.name), role }))

export const accountRoutes = ({ isolation }: { isolation: resources.Isolation }): Route[] => [
  route({
    method: 'GET',
    path: '/v1/accounts',
    tag,
    summary: 'List the accounts that the caller belongs to',
    access: 'known',
    reply: listOf('accounts', resources.account),
    handle: ({ principal }) => ({ accounts: renderAccounts(principal), nextPageToken: '' }),
  }),
  route({
    method: 'GET',
    path: '/v1/regions',
    tag,
    summary: 'List the regions',
    access: 'known',
    reply: listOf('regions', resources.region),
    handle: () => ({
      regions: Object.entries(names.REGIONS).map(([id, displayName]) => ({ name: `regions/${id}`, displayName })),
      nextPageToken: '',
    }),
  }),
  route({
    method: 'GET',
    path: '/v1/isolation',
    tag,
    summary: 'Show how this machine isolates builds and apps, and what it does not protect',
    access: 'known',
    reply: resources.isolation,
    handle: () => isolation,
  }),
]
