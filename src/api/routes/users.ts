import type { Members } from '../../accounts/index.ts'
import { resources } from '../../contract/index.ts'
import { toPage } from '../../storage/index.ts'
import { renderUser } from '../render.ts'
import { listOf, pageQuery, pageRequest, type Route, route } from '../route.ts'

const USERS = '/v1/accounts/{account}/users'
const tag = 'Users'

export const userRoutes = ({ members }: { members: Members }): Route[] => [
  route({
    method: 'GET',
    path: USERS,
    tag,
    summary: 'List the users of an account, and the users it has invited',
    access: 'viewer',
    query: pageQuery,
    reply: listOf('users', resources.user),
    problems: ['PAGE_TOKEN_INVALID'],
    async handle({ account, query }) {
      const { items, nextPageToken } = await members.list(account.id, toPage(pageRequest(query)))
      return { users: items.map((member) => renderUser(account, member)), nextPageToken }
    },
  }),
  route({
    method: 'POST',
    path: USERS,
    tag,
    summary: "Add a user to an account; a new user's password is in this answer only, and an existing user is invited",
    access: 'owner',
    audited: 'ADD_USER',
    body: resources.newUser,
    reply: resources.addedUser,
    problems: ['USER_EXISTS', 'USER_NOT_VOUCHED', 'TOO_MANY_NEW_USERS', 'PASSWORDS_BUSY'],
    async handle({ account, body, principal }) {
      const inviter = principal.session?.user.email ?? ''
      const { member, password } = await members.add(account.id, { ...body, inviter })
      return { ...renderUser(account, member), ...(password ? { password: password.reveal() } : {}) }
    },
  }),
  route({
    method: 'PATCH',
    path: `${USERS}/{user}`,
    tag,
    summary: 'Give a user another role in the account',
    access: 'owner',
    audited: 'CHANGE_ROLE',
    body: resources.changedUser,
    reply: resources.user,
    problems: ['USER_NOT_FOUND', 'LAST_OWNER'],
    async handle({ account, params, body }) {
      return renderUser(account, await members.setRole(account.id, params.user, body.role))
    },
  }),
  route({
    method: 'DELETE',
    path: `${USERS}/{user}`,
    tag,
    summary: 'Remove a user from the account, or withdraw an invitation; their sessions lose access',
    access: 'owner',
    audited: 'REMOVE_USER',
    reply: resources.empty,
    problems: ['USER_NOT_FOUND', 'LAST_OWNER'],
    async handle({ account, params }) {
      await members.remove(account.id, params.user)
      return {}
    },
  }),
]
