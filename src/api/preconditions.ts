/** The versions that a change applies to: `etag` in the body, `If-Match` in the headers, or both. */
import type { FastifyRequest } from 'fastify'
import type { Preconditions } from '../apps/index.ts'
import { fieldInvalid } from '../contract/index.ts'
import { readEntityTag, readEntityTags } from '../http/index.ts'

/** The preconditions of a request; none if the caller names no version. */
export function preconditionsOf(request: FastifyRequest, { etag }: { etag?: string } = {}): Preconditions {
  const ifMatch = request.headers['if-match']
  return [...(etag === undefined ? [] : [inBody(etag)]), ...(ifMatch === undefined ? [] : [inHeader(ifMatch)])]
}

/**
 * A client relies on the precondition that it sends: a route that does not check it refuses it instead of ignoring it.
 */
export function refusePreconditions({ headers }: FastifyRequest) {
  if (headers['if-match'] === undefined) return
  throw fieldInvalid('If-Match', 'is not taken here: this call has no etag to compare with. Leave the header out')
}

function inBody(text: string) {
  const tag = readEntityTag(text)
  if (tag === undefined) throw fieldInvalid('etag', `must be one that was read, with its quotes, as ${EXAMPLE}`)
  return [tag]
}

function inHeader(text: string) {
  const tags = readEntityTags(text)
  if (tags === undefined) {
    throw fieldInvalid('If-Match', `must be etags that were read, with their quotes, as ${EXAMPLE}, or *`)
  }
  return tags
}

const EXAMPLE = 'W/"f5Xq1Zb0"'
