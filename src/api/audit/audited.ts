/** What the audit log says of a request. */
import { foldEmail } from '../../accounts/index.ts'
import type { Audited } from '../../audit/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Route, RouteCall } from '../route.ts'

type Call = Pick<RouteCall<unknown, unknown>, 'params' | 'body' | 'request'> &
  Partial<Pick<RouteCall<unknown, unknown>, 'account' | 'principal'>>

type AuditedRoute = Pick<Route, 'path' | 'auditedPath'>

export function auditedOf({ path, auditedPath }: AuditedRoute, action: resources.AuditAction, call: Call): Audited {
  const { account, request, body } = call
  const known = { action, by: actorOf(call), way: wayOf(call), address: request.ip }
  // Requests of a user as such: the change tells which accounts have to do with it.
  if (!account) return known
  return {
    ...known,
    accountId: account.id,
    resource: resourceOf(auditedPath ?? path, call.params),
    fields: fieldsOf(body),
  }
}

/** Below the account, without the verb. */
function resourceOf(path: string, params: Call['params']): string {
  const [, below = ''] = path.split('/accounts/{account}/')
  return below.replace(/:\w+$/, '').replaceAll(/\{(\w+)\}/g, (_, name: keyof Call['params']) => params[name])
}

/** The schema of the body knows all of them. Of a form nothing is known before it is read. */
const fieldsOf = (body: unknown): string[] =>
  body !== null && typeof body === 'object' && Object.getPrototypeOf(body) === Object.prototype
    ? Object.keys(body).filter((field) => field !== 'etag')
    : []

/** A user who logs in is known by the e-mail address, which is theirs if the log-in succeeds. */
function actorOf({ principal, body }: Call): resources.AuditActor {
  if (principal) return principal.requester
  return { kind: 'USER', name: foldEmail((body as { email?: string }).email ?? '') }
}

/** The command line says in each request what it is. */
function wayOf({ principal, request }: Call): resources.AuditWay {
  if (/^headland\b/.test(request.headers['user-agent'] ?? '')) return 'COMMAND_LINE'
  return principal?.session || !request.headers.authorization ? 'PORTAL' : 'API'
}
