import type { Credentials } from '../../accounts/index.ts'
import { type Ceilings, resources } from '../../contract/index.ts'
import { toPage } from '../../storage/index.ts'
import { renderCredential } from '../render.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'

const CREDENTIALS = '/v1/accounts/{account}/credentials'
const tag = 'Credentials'

type Parts = { credentials: Credentials; ceilings: Ceilings }

export const credentialRoutes = ({ credentials, ceilings }: Parts): Route[] => [
  route({
    method: 'GET',
    path: CREDENTIALS,
    tag,
    summary: 'List the API credentials of an account',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('credentials', resources.credential),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const { items, nextPageToken } = await credentials.list(account.id, toPage(pageRequest(query)))
      return { credentials: items.map((credential) => renderCredential(account, credential)), nextPageToken }
    },
  }),
  route({
    method: 'POST',
    path: CREDENTIALS,
    tag,
    summary: 'Issue an API credential; its password is in this answer only',
    access: 'owner',
    audited: 'CREATE_CREDENTIAL',
    body: resources.newCredential,
    bodyIsOptional: true,
    reply: resources.issuedCredential,
    problems: ['ACCOUNT_LIMIT'],
    async handle({ account, body }) {
      const { role = 'developer', displayName = 'API' } = body
      const { credential, password } = await credentials.issue(account.id, {
        role,
        displayName,
        max: ceilings.CREDENTIALS,
      })
      return { ...renderCredential(account, credential), password: password.reveal() }
    },
  }),
  route({
    method: 'DELETE',
    path: `${CREDENTIALS}/{credential}`,
    tag,
    summary: 'Revoke an API credential',
    access: 'owner',
    audited: 'DELETE_CREDENTIAL',
    reply: resources.empty,
    problems: ['CREDENTIAL_NOT_FOUND'],
    async handle({ account, params }) {
      await credentials.revoke(account.id, params.credential)
      return {}
    },
  }),
]
