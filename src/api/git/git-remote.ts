/**
 * Every app is a remote of git: `/git/{account}/{app}.git`. The protocol is git's own (smart HTTP), with the credentials of the
 * API. Errors are plain text, which git shows to its user.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Apps } from '../../apps/index.ts'
import type { ServeGit } from '../../branches/index.ts'
import { LIMITS, names, PROBLEMS, Problem } from '../../contract/index.ts'
import { SERVICES, type Service } from '../../git/index.ts'
import { type Auth, membershipIn, type Principal } from '../auth.ts'
import { toProblem } from '../errors.ts'
import { readBody, tooLarge } from './body.ts'

export type GitRemoteParts = {
  apps: Pick<Apps, 'require'>
  /** By this process, or by a worker of the cluster. */
  serve: ServeGit
  publicUrl(): string
  maxPackBytes: number
  stallMs: number
}

type Params = { account: string; repository: string; service?: string }

export function gitRemote(parts: GitRemoteParts, auth: Auth) {
  const { apps, serve, publicUrl, maxPackBytes, stallMs } = parts

  /** Who asks for which app. A name that is not one is that of no app. */
  async function admit(request: FastifyRequest) {
    // A browser's session is not for git, and another site must not use it.
    if (request.headers.authorization === undefined) throw new Problem('CREDENTIALS_REQUIRED')
    const principal: Principal = await auth.admit(request, 'developer')
    const { account: accountName, repository } = request.params as Params
    const { account } = membershipIn(principal, accountName)
    const name = /^(.+)\.git$/.exec(repository)?.[1] ?? ''
    if (!APP.test(name)) throw new Problem('APP_NOT_FOUND')
    return { principal, account, app: await apps.require(account.id, name) }
  }

  async function send(request: FastifyRequest, reply: FastifyReply, service: Service, isCall: boolean) {
    const { principal, account, app } = await admit(request)
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    const { headers } = request
    const length = Number(headers['content-length'] ?? 0)
    const maxBytes = service === 'git-receive-pack' ? maxPackBytes : LIMITS.fetchBytes
    if (isCall && length > maxBytes) throw tooLarge(maxBytes)
    const { head, body } = await serve(
      {
        account: { id: account.id, name: account.name },
        app: { id: app.id, name: app.name },
        requester: principal.requester,
        address: request.ip,
        userAgent: headers['user-agent'] ?? '',
        portalUrl: publicUrl(),
        service,
        protocol: String(headers['git-protocol'] ?? ''),
        bytes: length,
        isPush: isCall && service === 'git-receive-pack',
      },
      {
        body: isCall ? readBody(request.raw, { encoding: headers['content-encoding'], maxBytes, stallMs }) : undefined,
        signal: gone.signal,
      },
    )
    return reply.code(head.status).headers(head.headers).send(body)
  }

  return (app: FastifyInstance) =>
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
      scope.setErrorHandler(sendText)
      scope.get('/git/:account/:repository/info/refs', (request, reply) => {
        const { service } = request.query as { service?: string }
        return send(request, reply, serviceOf(service), false)
      })
      for (const service of SERVICES) {
        scope.post(`/git/:account/:repository/${service}`, { bodyLimit: Number.MAX_SAFE_INTEGER }, (request, reply) =>
          send(request, reply, service, true),
        )
      }
    })
}

const APP = new RegExp(String(names.appName.pattern), 'u')

/** Git before 1.6.6 names none, and asks for files. */
function serviceOf(given: unknown): Service {
  const service = SERVICES.find((one) => one === given)
  if (service) return service
  throw new Problem('REQUEST_MALFORMED', 'This is a remote of git: use `git clone`, `git fetch` or `git push`.')
}

/** A connection is closed while its caller still sends, unless that will soon be over. */
const MAX_DISCARDED_BYTES = 1024 * 1024

function sendText(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const problem = toProblem(error)
  const { http, fault } = PROBLEMS[problem.reason]
  if (fault === 'service') request.log.error({ err: problem.cause ?? problem, requestId: request.id }, problem.message)
  if (http === 401) reply.header('www-authenticate', 'Basic realm="headland"')
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds)
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (!request.raw.complete && length > MAX_DISCARDED_BYTES) reply.header('connection', 'close')
  request.raw.resume()
  // One answer for another account's app and for one that does not exist.
  const text = http === 404 ? 'There is no such app, or it is not yours.' : `${problem.reason}. ${problem.message}`
  return reply.code(http).type('text/plain; charset=utf-8').send(`${text}\n`)
}
