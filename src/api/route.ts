/**
 * A route as one value: the same value registers the handler, validates the request, serializes the reply and stands in
 * the OpenAPI document.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../accounts/index.ts'
import { type Reason, type resources, schema } from '../contract/index.ts'
import type { Access, Principal } from './auth.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export type RouteCall<Query, Body> = {
  /** Path segments by name, already of the form that the contract demands. */
  params: Record<
    | 'account'
    | 'app'
    | 'environment'
    | 'operation'
    | 'schedule'
    | 'build'
    | 'deployment'
    | 'credential'
    | 'certificate'
    | 'notificationTarget'
    | 'user'
    | 'invitation'
    | 'example',
    string
  >
  query: Query
  body: Body
  /** Only where the route is not public. */
  principal: Principal
  /** Only where the path names an account, which is then one of the caller's. */
  account: Account
  role: resources.Role
  request: FastifyRequest
  reply: FastifyReply
  /** Only where the route takes anything: the whole body, undefined where it is longer or takes too long. */
  readBody?: ReadBody
}

export type ReadBody = (maxBytes: number) => Promise<Buffer | undefined>

export type Route = {
  method: Method
  /** In the form of OpenAPI: `/v1/accounts/{account}/apps/{app}:verb`. */
  path: string
  tag: string
  summary: string
  access: Access
  query?: schema.ObjectSchema
  body?: schema.ObjectSchema
  /** The body is a form that the handler reads from the request as it arrives. */
  takesForm?: true
  /**
   * The route takes every request below this Fastify path, with any body, content type and query: see
   * `raw-endpoint.ts`. The handler gets only the request and returns the text of the answer; `path` describes its
   * address.
   */
  takesAnything?: string
  /** Of those, the URLs whose handler may read the body before it answers. */
  mayReadBody?(url: string): boolean
  /** The handler gets the body as a Buffer of at most so many bytes, of any content type: see `bytes-endpoint.ts`. */
  takesBytes?: number
  /** A request without a body counts as an empty object. */
  bodyIsOptional?: boolean
  /**
   * A change of a resource that has an etag: `If-Match` and the `etag` of the body are checked. Other routes refuse
   * them.
   */
  takesEtag?: true
  /** What it changes is in the audit log of the account. Every route that changes something has it, or is named in `audited.test.ts`. */
  audited?: resources.AuditAction
  /** The path of the list in which it changes an entry, if its own path names something else. */
  auditedPath?: string
  /** Schema of the JSON reply; `null` for a reply without a body; a media type where the handler writes the text. */
  reply: schema.Schema | null | { mediaType: string; schema?: schema.Schema }
  /** To clients that accept `text/event-stream`, the handler returns a stream of events instead. */
  streams?: true
  /** Reasons beyond those that all routes of this kind have in common. */
  problems?: readonly Reason[]
  handle(call: RouteCall<unknown, unknown>): unknown
}

type Typed<Q, B> = Omit<Route, 'query' | 'body' | 'handle'> & {
  query?: schema.ObjectSchema<Q>
  body?: schema.ObjectSchema<B>
  handle(call: RouteCall<Q, B>): unknown
}

/** Ties the types of query and body to their schemas. */
export function route<Q = Record<string, never>, B = undefined>(typed: Typed<Q, B>): Route {
  return typed as unknown as Route
}

/** Whether the reply has an etag, which is then sent in the headers, too. */
export const showsEtag = ({ method, reply }: Route): boolean =>
  method === 'GET' && isJson(reply) && 'etag' in ((reply as { properties?: object }).properties ?? {})

export const isJson = (reply: Route['reply']): reply is schema.Schema => reply !== null && !('mediaType' in reply)

export const pageFields = {
  pageSize: schema.optional(
    schema.integer({ minimum: 0, description: '50 unless given; more than 200 counts as 200.' }),
  ),
  pageToken: schema.optional(schema.string({ maxLength: 200, description: 'nextPageToken of the page before.' })),
  orderBy: schema.optional(
    schema.oneOf(['createTime desc', 'createTime', 'createTime asc'], { description: 'Newest first unless given.' }),
  ),
}

export const pageQuery = schema.object(pageFields)
export const viewQuery = {
  view: schema.optional(
    schema.oneOf(['BASIC', 'FULL'], {
      description: 'FULL shows the values of secrets among the shell variables, to developers and owners.',
    }),
  ),
}
export const pageAndViewQuery = schema.object({ ...pageFields, ...viewQuery })

type PageQuery = schema.Static<typeof pageQuery>

export function pageRequest({ pageSize, pageToken, orderBy = 'createTime desc' }: PageQuery) {
  return {
    ...(pageSize === undefined ? {} : { pageSize }),
    ...(pageToken === undefined ? {} : { pageToken }),
    order: orderBy === 'createTime desc' ? ('newest' as const) : ('oldest' as const),
  }
}

/** The reply of a list: the items under their plural, and the token of the next page. */
export function listOf(plural: string, item: schema.Schema & { title?: unknown }): schema.Schema {
  return schema.object(
    {
      [plural]: schema.array(item),
      nextPageToken: schema.string({ description: 'Empty on the last page.' }),
    },
    { title: `${item.title}List` },
  )
}
