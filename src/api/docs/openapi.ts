/** The OpenAPI 3.1 document, made from the routes that are served. */
import { PROBLEMS, type Reason, resources, schema } from '../../contract/index.ts'
import { isJson, type Route, showsEtag } from '../route.ts'
import { parametersOf } from '../server.ts'

type Json = Record<string, unknown>

export type OpenApi = {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, Json>; securitySchemes: Json }
}

export type OpenApiOperation = {
  operationId: string
  tags: string[]
  summary: string
  'x-access': Route['access']
  'x-reasons': readonly Reason[]
  security: Json[]
  parameters: Json[]
  requestBody?: { required: boolean; content: Json }
  responses: Record<string, Response>
}

type Response = { description: string; headers?: Json; content?: Json }

export function describeApi(routes: readonly Route[], serverUrl: string): OpenApi {
  const components: Record<string, Json> = {}
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    ;(paths[route.path] as Json)[route.method.toLowerCase()] = describeRoute(route, components)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headland',
      version: 'v1',
      description:
        'Create apps and environments, upload archives, watch operations. Errors follow AIP-193, operations AIP-151.',
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'API user id and password.' },
        session: { type: 'apiKey', in: 'cookie', name: 'headland_session', description: 'Log-in of the portal.' },
      },
    },
  }
}

function describeRoute(route: Route, components: Record<string, Json>): OpenApiOperation {
  const reasons = reasonsOf(route)
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, c) => c.toUpperCase())}`,
    tags: [route.tag],
    summary: route.summary,
    'x-access': route.access,
    'x-reasons': reasons,
    security: securityOf(route),
    parameters: [
      ...parameters(parametersOf(route.path), 'path'),
      ...parameters(route.query ?? schema.object({}), 'query'),
      ...(route.takesEtag ? [IF_MATCH] : []),
    ],
    ...(route.body
      ? {
          requestBody: {
            required: !route.bodyIsOptional,
            content: { 'application/json': { schema: refer(route.body, components) } },
          },
        }
      : {}),
    ...(route.takesForm
      ? { requestBody: { required: true, content: { 'multipart/form-data': { schema: FORM } } } }
      : {}),
    responses: { 200: success(route, components), ...failures(reasons, components) },
  }
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'Etags that were read, or `*`. If none is the current one, nothing is done: 409, `ETAG_MISMATCH`.',
  schema: { type: 'string' },
}

const ETAG = { ETag: { description: 'The `etag` of the body.', schema: { type: 'string' } } }

const FORM = {
  type: 'object',
  properties: { repository: { type: 'string', contentMediaType: 'application/zip', description: 'The `.zip` file.' } },
  required: ['repository'],
}

function securityOf({ access }: Route): Json[] {
  if (access === 'public') return []
  return access === 'session' ? [{ session: [] }] : [{ basic: [] }, { session: [] }]
}

/** The reasons of the route itself, and those of every route of its kind. */
export function reasonsOf({ access, path, body, method, takesEtag, problems = [] }: Route): Reason[] {
  const known: Reason[] = access === 'public' ? [] : ['CREDENTIALS_REQUIRED', 'CREDENTIALS_WRONG']
  const member: Reason[] = path.includes('{account}') ? ['ACCOUNT_NOT_FOUND'] : []
  const role: Reason[] = ['developer', 'owner', 'operator'].includes(access) ? ['ROLE_TOO_WEAK'] : []
  const browser: Reason[] = access !== 'public' && method !== 'GET' ? ['ORIGIN_REFUSED'] : []
  const sent: Reason[] = body ? ['JSON_MALFORMED', 'BODY_TOO_LARGE', 'CONTENT_TYPE_UNSUPPORTED'] : []
  const version: Reason[] = takesEtag ? ['ETAG_MISMATCH'] : []
  // An unknown query parameter is refused everywhere.
  const always: Reason[] = ['FIELD_INVALID', 'INTERNAL', 'STORAGE_UNAVAILABLE']
  return [...new Set([...known, ...member, ...role, ...browser, ...sent, ...version, ...problems, ...always])]
}

function success(route: Route, components: Record<string, Json>): Response {
  if (route.reply === null) return { description: 'Done. No body.' }
  const stream = route.streams ? { 'text/event-stream': { schema: { type: 'string' } } } : {}
  if (isJson(route.reply)) {
    const content = { 'application/json': { schema: refer(route.reply, components) }, ...stream }
    return { description: 'Done.', ...(showsEtag(route) ? { headers: ETAG } : {}), content }
  }
  const { mediaType, schema: written } = route.reply as { mediaType: string; schema?: schema.Schema }
  const type = mediaType === 'application/json' ? 'object' : 'string'
  const content = { [mediaType]: { schema: written ? refer(written, components) : { type } }, ...stream }
  return { description: 'Done.', content }
}

function failures(reasons: readonly Reason[], components: Record<string, Json>) {
  const byStatus = Map.groupBy(reasons, (reason) => PROBLEMS[reason].http)
  const error = refer(resources.errorReply, components)
  return Object.fromEntries(
    [...byStatus].map(([http, group]) => [
      http,
      {
        description: group.map((reason) => `\`${reason}\`: ${PROBLEMS[reason].meaning}`).join(' '),
        content: { 'application/json': { schema: error } },
      },
    ]),
  )
}

function parameters({ properties, required }: schema.ObjectSchema, place: 'path' | 'query'): Json[] {
  return Object.entries(properties).map(([name, { description, ...of }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description ? { description } : {}),
    schema: of,
  }))
}

/** A schema with a title becomes a component, and is replaced by a reference to it. */
function refer(of: unknown, components: Record<string, Json>): Json {
  const { title, ...rest } = of as Json
  const resolved = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, walk(value, components)]))
  if (typeof title !== 'string') return title === undefined ? resolved : { title: walk(title, components), ...resolved }
  components[title] ??= resolved
  return { $ref: `#/components/schemas/${title}` }
}

function walk(value: unknown, components: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, components))
  return typeof value === 'object' && value !== null ? refer(value, components) : value
}
