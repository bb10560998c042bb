/** Who calls, and what they may do. Runs before the body is read: an unknown caller costs one look-up. */
import type { FastifyRequest } from 'fastify'
import {
  type Account,
  type Credentials,
  credentialRequester,
  type Membership,
  type Sessions,
  type User,
  type Users,
  userRequester,
} from '../accounts/index.ts'
import { names, Problem, resources } from '../contract/index.ts'
import type { BrowserSession } from './browser-session.ts'
import { routeNotFound } from './errors.ts'

/**
 * Who may call: every client; clients with credentials or a session; clients with a session; owners of an account that operates
 * the installation; or members of the account in the path with at least this role.
 */
export type Access = 'public' | 'known' | 'session' | 'operator' | resources.Role

export type Principal = {
  /** The same for all requests of one user or one credential. */
  caller: string
  /** As operations and triggers record it. */
  requester: resources.Requester
  memberships: readonly Membership[]
  /** Present when the caller is a person with a session, and not a program with credentials. */
  session?: { user: User; token: string; expireTime: number }
}

type Parts = {
  credentials: Credentials
  sessions: Sessions
  users: Users
  browserSession: BrowserSession
  /** Names of the accounts that operate the installation. */
  operatorAccounts: readonly string[]
}

export function createAuth({ credentials, sessions, users, browserSession, operatorAccounts }: Parts) {
  const operating = ({ memberships }: Pick<Principal, 'memberships'>) =>
    memberships.filter(({ account }) => operatorAccounts.includes(account.name))

  /** To all others, the route is one that does not exist: it is about nothing of theirs. */
  function checkOperator(principal: Principal, request: FastifyRequest) {
    const roles = operating(principal).map(({ role }) => role)
    if (roles.length === 0) throw routeNotFound(request)
    if (!roles.includes('owner')) checkRole(roles[0] ?? 'viewer', 'owner')
  }

  async function byBasic(header: string): Promise<Principal> {
    const [userId, password] = parseBasic(header)
    const found = userId && (await credentials.verify(userId, password ?? ''))
    if (!found) throw new Problem('CREDENTIALS_WRONG')
    const { account, role, displayName } = found
    const requester = credentialRequester({ displayName })
    return { caller: `credential ${userId}`, requester, memberships: [{ account, role }] }
  }

  async function bySession(token: string): Promise<Principal> {
    const session = await sessions.find(token)
    if (!session) throw new Problem('CREDENTIALS_WRONG')
    const { id } = session.user
    const memberships = await users.memberships(id)
    return { caller: `user ${id}`, requester: userRequester(session.user), memberships, session: { ...session, token } }
  }

  /** The caller of this request, or undefined when it does not say who it is. */
  async function identify(request: FastifyRequest): Promise<Principal | undefined> {
    const { authorization } = request.headers
    if (authorization !== undefined) return byBasic(authorization)
    const token = browserSession.tokenOf(request)
    return token === undefined ? undefined : bySession(token)
  }

  return {
    identify,
    isOperator: (principal: Pick<Principal, 'memberships'>): boolean =>
      operating(principal).some(({ role }) => role === 'owner'),

    /** The caller, who is allowed to make this call. */
    async admit(request: FastifyRequest, access: Exclude<Access, 'public'>): Promise<Principal> {
      const principal = await identify(request)
      if (!principal) throw new Problem('CREDENTIALS_REQUIRED')
      if (access === 'session' && !principal.session) throw new Problem('CREDENTIALS_REQUIRED')
      if (principal.session) browserSession.checkOrigin(request)
      if (access === 'operator') {
        checkOperator(principal, request)
        return principal
      }
      const { account } = request.params as { account?: string }
      if (account === undefined || access === 'known' || access === 'session') return principal
      checkRole(membershipIn(principal, account).role, access)
      return principal
    },
  }
}

export type Auth = ReturnType<typeof createAuth>

/** The answer is the same for another account's name and for one that does not exist. */
export function membershipIn(principal: Principal, accountName: string): { account: Account; role: resources.Role } {
  const membership = principal.memberships.find(({ account }) => account.name === accountName)
  if (!membership) throw new Problem('ACCOUNT_NOT_FOUND')
  return membership
}

export function checkRole(role: resources.Role, needed: resources.Role) {
  if (resources.ROLES.indexOf(role) >= resources.ROLES.indexOf(needed)) return
  throw new Problem('ROLE_TOO_WEAK', `This call needs the role ${needed}; yours is ${role}.`, {
    metadata: { needed, role },
  })
}

const USER_ID = new RegExp(String(names.credentialId.pattern))

function parseBasic(header: string): [userId: string | undefined, password: string | undefined] {
  const match = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(header)
  if (!match?.[1]) return [undefined, undefined]
  const text = Buffer.from(match[1], 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const userId = text.slice(0, colon)
  return colon > 0 && USER_ID.test(userId) ? [userId, text.slice(colon + 1)] : [undefined, undefined]
}
