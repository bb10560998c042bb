import type { Invitations, Session, Sessions, Users } from '../../accounts/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import { Problem, resources, schema } from '../../contract/index.ts'
import type { Auth, Principal } from '../auth.ts'
import type { BrowserSession } from '../browser-session.ts'
import { renderInvitation } from '../render.ts'
import { type Route, route } from '../route.ts'
import { renderAccounts } from './accounts.ts'

const tag = 'Session'

type Parts = {
  sessions: Sessions
  users: Users
  invitations: Invitations
  browserSession: BrowserSession
  auth: Pick<Auth, 'isOperator'>
}

export function sessionRoutes({ sessions, users, invitations, browserSession, auth }: Parts): Route[] {
  async function render(session: Session) {
    const memberships = await users.memberships(session.user.id)
    return {
      email: session.user.email,
      accounts: renderAccounts({ memberships }),
      invitations: (await invitations.ofUser(session.user.id)).map(renderInvitation),
      operator: auth.isOperator({ memberships }),
      expireTime: toRfc3339(session.expireTime),
    }
  }

  return [
    route({
      method: 'POST',
      path: '/v1/session',
      tag,
      summary: 'Log in to the portal: sets an HttpOnly cookie',
      access: 'public',
      audited: 'LOG_IN',
      body: resources.newSession,
      reply: resources.session,
      problems: ['LOG_IN_FAILED', 'TOO_MANY_LOG_INS', 'PASSWORDS_BUSY', 'ORIGIN_REFUSED'],
      async handle({ body, request, reply }) {
        browserSession.checkOrigin(request)
        const { token, session } = await sessions.logIn(body.email, body.password, request.ip)
        const maxAgeSeconds = Math.floor((session.expireTime - Date.now()) / 1000)
        reply.header('set-cookie', browserSession.cookieFor(token.reveal(), maxAgeSeconds))
        return render(session)
      },
    }),
    route({
      method: 'GET',
      path: '/v1/session',
      tag,
      summary: 'Read who is logged in',
      access: 'session',
      reply: resources.session,
      handle: ({ principal }) => render(sessionOf(principal)),
    }),
    route({
      method: 'DELETE',
      path: '/v1/session',
      tag,
      summary: 'Log out',
      access: 'session',
      query: schema.object({
        everywhere: schema.optional(
          schema.boolean({ description: "End all of the user's sessions, not only this one." }),
        ),
      }),
      reply: resources.empty,
      async handle({ principal, query, reply }) {
        const { token, user } = sessionOf(principal)
        await (query.everywhere ? sessions.logOutEverywhere(user.id) : sessions.logOut(token))
        reply.header('set-cookie', browserSession.cookieFor('', 0))
        return {}
      },
    }),
    route({
      method: 'POST',
      path: '/v1/session:changePassword',
      tag,
      summary: 'Change the password of the logged-in user, and end all their other sessions',
      access: 'session',
      audited: 'CHANGE_PASSWORD',
      body: resources.changedPassword,
      reply: resources.empty,
      problems: ['PASSWORD_WRONG', 'TOO_MANY_LOG_INS', 'PASSWORDS_BUSY'],
      async handle({ principal, body, request }) {
        await sessions.changePassword(sessionOf(principal), body, request.ip)
        return {}
      },
    }),
    route({
      method: 'POST',
      path: '/v1/session/invitations/{invitation}:accept',
      tag,
      summary: 'Accept an invitation: the user belongs to the account from now on',
      access: 'session',
      audited: 'ACCEPT_INVITATION',
      reply: resources.session,
      problems: ['INVITATION_NOT_FOUND'],
      async handle({ principal, params }) {
        const session = sessionOf(principal)
        await invitations.accept(session.user.id, params.invitation)
        return render(session)
      },
    }),
    route({
      method: 'POST',
      path: '/v1/session/invitations/{invitation}:decline',
      tag,
      summary: 'Decline an invitation',
      access: 'session',
      audited: 'DECLINE_INVITATION',
      reply: resources.session,
      problems: ['INVITATION_NOT_FOUND'],
      async handle({ principal, params }) {
        const session = sessionOf(principal)
        await invitations.decline(session.user.id, params.invitation)
        return render(session)
      },
    }),
  ]
}

/** Always present on routes whose access is `session`. */
function sessionOf({ session }: Principal): NonNullable<Principal['session']> {
  if (!session) throw new Problem('CREDENTIALS_REQUIRED')
  return session
}
