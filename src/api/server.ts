/** The API listener: serves the list of routes. */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import { auditing } from '../audit/index.ts'
import type { Log, NewId } from '../base/index.ts'
import { fieldInvalid, LIMITS, names, Problem, resources, schema } from '../contract/index.ts'
import type { Portal } from '../portal/index.ts'
import { doing } from '../watchdog/index.ts'
import { auditedOf } from './audit/audited.ts'
import { type Auth, membershipIn, type Principal } from './auth.ts'
import { bytesEndpoint } from './bytes-endpoint.ts'
import { createManual } from './docs/manual/index.ts'
import { routeNotFound, sendClientError, sendProblem } from './errors.ts'
import type { Metrics } from './metrics.ts'
import { createPortalFiles } from './portal-files.ts'
import { refusePreconditions } from './preconditions.ts'
import { rawEndpoint } from './raw-endpoint.ts'
import { isJson, type Route, type RouteCall, showsEtag } from './route.ts'
import { createTrust } from './trust.ts'
import { createCheck } from './validation/index.ts'
import { withoutSecrets } from './webhook-url.ts'

const PATH_PARAMETERS: Record<string, schema.Schema> = {
  account: names.accountName,
  app: names.appName,
  environment: names.environmentId,
  operation: names.operationId,
  build: names.buildId,
  deployment: names.deploymentId,
  credential: names.credentialId,
  certificate: names.certificateId,
  schedule: names.scheduleId,
  notificationTarget: names.notificationTargetId,
  user: names.userId,
  invitation: names.invitationId,
  example: names.exampleId,
  action: resources.webhookAction,
}

export const parametersOf = (path: string): schema.ObjectSchema => {
  const found = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, PATH_PARAMETERS[name] ?? {}] as const)
  return schema.object(Object.fromEntries(found))
}

type Parts = {
  routes: readonly Route[]
  auth: Auth
  log: Log
  newId: NewId
  metrics: Metrics
  trustedProxies: string[]
  stopping: AbortSignal
  portal: Portal
  /** Adds what git asks for. */
  remote(app: FastifyInstance): void
}

export function createApiServer({
  routes,
  auth,
  log,
  newId,
  metrics,
  trustedProxies,
  stopping,
  portal,
  remote,
}: Parts): FastifyInstance {
  const app = fastify({
    loggerInstance: withoutChildren(log),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newId,
    bodyLimit: LIMITS.bodyBytes,
    trustProxy: createTrust(trustedProxies),
    // An upload may take as long as it makes progress; every other body has its own limit below.
    requestTimeout: 0,
    keepAliveTimeout: 65_000,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: { maxHeaderSize: LIMITS.headerBytes },
    routerOptions: { maxParamLength: LIMITS.headerBytes },
    clientErrorHandler: sendClientError,
    frameworkErrors: sendProblem,
  })

  app.decorateRequest('principal', null)
  app.decorateRequest('matched', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    doing(`body of ${workOf(request)}`)
    try {
      done(null, parseJson(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  // Passed on as a stream: the handler counts, checks and limits it.
  app.addContentTypeParser('multipart/form-data', (request, body, done) => {
    if (request.routeOptions.config.takesForm) return done(null, body)
    done(new Problem('CONTENT_TYPE_UNSUPPORTED'))
  })
  app.setValidatorCompiler<Marked>(({ schema: marked }) => marked.check)
  app.setErrorHandler(sendProblem)
  const portalFiles = createPortalFiles(portal)
  const answerUnknown = (request: FastifyRequest, reply: FastifyReply) =>
    portalFiles.answersPage(request, reply) ? reply : refuseUnknown(routes, request)
  app.setNotFoundHandler(answerUnknown)

  // Informs the watchdog where the work for a request begins or continues.
  app.addHook('onRequest', (request, _reply, done) => {
    request.matched = request.routeOptions
    doing(workOf(request))
    done()
  })
  app.addHook('preHandler', (request, _reply, done) => {
    doing(workOf(request))
    done()
  })
  app.addHook('preSerialization', (request, _reply, payload, done) => {
    doing(`reply to ${workOf(request)}`)
    done(null, payload)
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('x-request-id', request.id)
    // A connection that is kept alive would outlive the server.
    if (stopping.aborted) reply.header('connection', 'close')
    reply.header('x-content-type-options', 'nosniff')
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { url = 'unknown', config } = request.matched ?? request.routeOptions
    metrics.observeRequest(request.method, url, reply.statusCode, reply.elapsedTime)
    // The path without its query, which may carry a token. Successful reads are frequent and of little interest, and
    // calls in the ledger are recorded there: both are logged at debug level.
    const isRoutine = (request.method === 'GET' || config?.isInLedger) && reply.statusCode < 400
    if (isRoutine && !log.isLevelEnabled('debug')) return done()
    log[isRoutine ? 'debug' : 'info'](
      {
        requestId: request.id,
        method: request.method,
        path: withoutSecrets(request.url),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        address: request.ip,
      },
      'request',
    )
    done()
  })

  for (const route of routes) {
    const { takesBytes } = route
    if (route.takesAnything) rawEndpoint(app, route.takesAnything, route)
    else if (takesBytes !== undefined) bytesEndpoint(app, toFastifyPath(route.path), { ...route, takesBytes })
    else register(app, auth, routes, route)
  }
  remote(app)
  portalFiles.register(app, answerUnknown)
  createManual().register(app, answerUnknown)
  return app
}

declare module 'fastify' {
  interface FastifyContextConfig {
    takesForm?: boolean
    /** The account can see every successful call of these routes in its ledger. */
    isInLedger?: boolean
  }
  interface FastifyRequest {
    /** The options of the route: Fastify makes a new object each time that it is asked for them. */
    matched: FastifyRequest['routeOptions'] | null
  }
}

/** One line a request is written, above: a logger for each request would cost as much as the line. */
function withoutChildren(log: Log): FastifyBaseLogger {
  const shared: FastifyBaseLogger = Object.assign(Object.create(log), { child: () => shared })
  return shared
}

/** Carries a compiled check through Fastify to where it would compile a schema. */
type Marked = { check: ReturnType<typeof createCheck> }

function register(app: FastifyInstance, auth: Auth, routes: readonly Route[], route: Route) {
  const { access, query = schema.object({}), body, bodyIsOptional } = route
  const hasEtag = showsEtag(route)

  async function handle(call: RouteCall<unknown, unknown>): Promise<unknown> {
    if (!route.audited) return route.handle(call)
    return auditing(auditedOf(route, route.audited, call), async () => route.handle(call))
  }

  app.route({
    method: route.method,
    url: toFastifyPath(route.path),
    config: { takesForm: route.takesForm ?? false },
    ...(route.takesForm ? { bodyLimit: Number.MAX_SAFE_INTEGER } : {}),
    schema: {
      params: { check: createCheck(parametersOf(route.path), 'path') },
      querystring: { check: createCheck(query, 'query') },
      ...(body ? { body: { check: createCheck(body, 'body', bodyIsOptional) } } : {}),
    },
    async onRequest(request) {
      if (!route.takesForm) limitBodyTime(request)
      // `{operation}` alone also matches `id:wait`: a verb that this method does not have.
      if (hasVerb(request.url) && !hasVerb(route.path)) refuseUnknown(routes, request)
      if (access !== 'public') request.setDecorator('principal', await auth.admit(request, access))
      if (route.method !== 'GET' && !route.takesEtag) refusePreconditions(request)
    },
    async handler(request, reply) {
      const { account } = request.params as { account?: string }
      const principal = request.getDecorator<Principal>('principal')
      const membership = account === undefined || access === 'public' ? {} : membershipIn(principal, account)
      const { params, query, body } = request
      const call = { params, query, body, principal, ...membership, request, reply } as RouteCall<unknown, unknown>
      const answer = await handle(call)
      if (hasEtag) reply.header('etag', (answer as { etag: string }).etag)
      if (isJson(route.reply) && !(answer instanceof Readable)) serializeAs(route.reply, reply)
      return route.reply === null ? reply.send() : answer
    },
  })
}

/** Only what the schema names is sent. It is compiled for the first reply of its route: most routes have none in one run. */
function serializeAs(of: schema.Schema, reply: FastifyReply) {
  reply.type('application/json; charset=utf-8').serializer(reply.compileSerializationSchema(of))
}

const BODY_MS = 60_000

/** A JSON body that arrives too slowly is cut off, since it holds a connection. */
function limitBodyTime({ raw }: FastifyRequest) {
  if (raw.headers['content-length'] === undefined && raw.headers['transfer-encoding'] === undefined) return
  const tooSlow = Object.assign(new Error('the body came too slowly'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  const timer = setTimeout(() => {
    // A body that is not read, such as an empty one, never emits `end`, although it has arrived.
    if (!raw.complete) sendClientError(tooSlow, raw.socket)
  }, BODY_MS)
  raw.once('end', () => clearTimeout(timer))
  raw.once('close', () => clearTimeout(timer))
}

/** `{operation}:wait` is a parameter that ends at the colon, and a literal; `domains:replace` is all literal. */
function toFastifyPath(path: string): string {
  return path
    .replaceAll(/(?<!\}):/g, '::')
    .replaceAll(/\{(\w+)\}:/g, ':$1(^[^/:]+)::')
    .replaceAll(/\{(\w+)\}/g, ':$1')
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  if (!isUtf8(body)) throw new Problem('JSON_MALFORMED', 'The body is not valid UTF-8.')
  const value = parseText(body.toString('utf8'))
  // Fastify passes an absent body to the check as null; here null and absent are told apart.
  if (value === null) throw fieldInvalid('body', 'must be a JSON object')
  return value
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Problem('JSON_MALFORMED', `The body is not valid JSON: ${(error as Error).message.slice(0, 200)}.`)
  }
}

/** The route's pattern, which contains neither names nor tokens. */
const workOf = ({ method, matched }: FastifyRequest): string => `${method} ${matched?.url ?? 'unknown'}`

const hasVerb = (url: string): boolean => /:[^/]*$/.test(url.split('?', 1)[0] ?? '')

/** A path that exists with another method is a 405 that names those; any other is a 404. */
function refuseUnknown(routes: readonly Route[], request: FastifyRequest): never {
  const path = withoutSecrets(request.url)
  const allowed = routes.filter((route) => toPattern(route.path).test(path)).map(({ method }) => method)
  if (allowed.length === 0) throw routeNotFound(request)
  const named = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const methods = [...new Set(named)].join(', ')
  throw new Problem('METHOD_NOT_ALLOWED', `Use one of: ${methods}.`, { metadata: { allow: methods } })
}

const patterns = new Map<string, RegExp>()
function toPattern(path: string): RegExp {
  let pattern = patterns.get(path)
  if (!pattern) {
    pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/:]+')}$`)
    patterns.set(path, pattern)
  }
  return pattern
}
