import type { Sessions, Users } from '../../accounts/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import { resources } from '../../contract/index.ts'
import { checkOrigin, type Principal, SESSION_COOKIE } from '../auth.ts'
import { type Route, route } from '../route.ts'
import { renderAccounts } from './accounts.ts'

const tag = 'Session'

type Parts = { sessions: Sessions; users: Users; isHttps: boolean }

export function sessionRoutes({ sessions, users, isHttps }: Parts): Route[] {
  const attributes = `Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`

  const render = (principal: Principal) => ({
    email: principal.session?.user.email ?? '',
    accounts: renderAccounts(principal),
    expireTime: toRfc3339(principal.session?.expireTime ?? 0),
  })

  return [
    route({
      method: 'POST',
      path: '/v1/session',
      tag,
      summary: 'Log in to the portal: sets an HttpOnly cookie',
      access: 'public',
      body: resources.newSession,
      reply: resources.session,
      problems: ['LOG_IN_FAILED', 'TOO_MANY_LOG_INS', 'ORIGIN_REFUSED'],
      async handle({ body, request, reply }) {
        checkOrigin(request)
        const { token, session } = await sessions.logIn(body.email, body.password, request.ip)
        const maxAgeSeconds = Math.floor((session.expireTime - Date.now()) / 1000)
        reply.header('set-cookie', `${SESSION_COOKIE}=${token.reveal()}; ${attributes}; Max-Age=${maxAgeSeconds}`)
        return render({
          memberships: await users.memberships(session.user.id),
          session: { ...session, token: token.reveal() },
        })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/session',
      tag,
      summary: 'Read who is logged in',
      access: 'session',
      reply: resources.session,
      handle: ({ principal }) => render(principal),
    }),
    route({
      method: 'DELETE',
      path: '/v1/session',
      tag,
      summary: 'Log out',
      access: 'session',
      reply: resources.empty,
      async handle({ principal, reply }) {
        if (principal.session) await sessions.logOut(principal.session.token)
        reply.header('set-cookie', `${SESSION_COOKIE}=; ${attributes}; Max-Age=0`)
        return {}
      },
    }),
  ]
}
