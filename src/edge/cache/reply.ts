/** Sends a stored response to one client: in an encoding that it accepts, whole, in part, or as a 304. */
import type { Encoding } from '../http/negotiate.ts'
import { type OpenPart, sendPart } from '../http/send-part.ts'
import type { ReadResponse, ReadVisit } from '../http/visit.ts'
import type { OutgoingHead } from './fetch.ts'
import { fieldOf } from './fields/header-list.ts'
import { answerFrom, notModifiedHeaders } from './policy/validation.ts'
import { headersOf, type StoredResponse } from './store/object.ts'
import { chooseRepresentation, type Representation } from './store/representation.ts'

/** What the cache adds to a stored response. */
export type Remark = {
  ageSeconds: number | undefined
  cacheStatus: string
  /** The head as the app has just sent it: the client whose request fetched it gets all of its fields. */
  first?: OutgoingHead | undefined
}

/** Where the body of a response comes from that is too large for memory. */
type LargeSource = {
  /** From `start` up to and without `end`; undefined when the body is gone. */
  open(start: number, end: number): OpenPart | undefined
  onGone(): void
}

/** The headers of a whole response in this encoding, the same for the fast path and for node:http. */
export const headersOfRepresentation = (
  stored: StoredResponse,
  { encoding, body }: Representation,
  remark: Remark,
): string[] => headersFor(stored, encoding, body.length, remark)

function headersFor(stored: StoredResponse, encoding: Encoding, length: number, { ageSeconds, cacheStatus }: Remark) {
  const headers = headersOf(stored)
  if (encoding !== 'identity') {
    weakenTag(headers)
    headers.push('Content-Encoding', encoding)
  }
  if (mayHaveLength(stored.status)) headers.push('Content-Length', String(length))
  if (ageSeconds !== undefined) headers.push('Age', String(ageSeconds))
  headers.push('Cache-Status', cacheStatus)
  return headers
}

export function sendStored({ request, response }: ReadVisit, stored: StoredResponse, body: Buffer, remark: Remark) {
  const accepted = request.headers['accept-encoding'] as string | undefined
  const representation: Representation = remark.first
    ? { encoding: 'identity', body }
    : chooseRepresentation(stored, body, accepted)
  const headers = remark.first
    ? headersOfFirst(remark.first, body, remark)
    : headersOfRepresentation(stored, representation, remark)
  const size = representation.body.length
  const result = answerFrom({ status: stored.status, headers, size }, request)
  switch (result.kind) {
    case 'not-modified':
      response.writeHead(304, notModified(headers, remark))
      return void response.end()
    case 'unsatisfiable':
      return sendUnsatisfiable(response, size, remark)
    case 'part': {
      const { start, end } = result
      setLength(headers, end - start + 1)
      headers.push('Content-Range', `bytes ${start}-${end}/${size}`)
      response.writeHead(206, headers)
      return void response.end(representation.body.subarray(start, end + 1))
    }
    case 'whole':
      response.writeHead(stored.status, stored.reason, headers)
      return void response.end(request.method === 'HEAD' ? undefined : representation.body)
  }
}

/** RFC 9110, section 8.6. */
const mayHaveLength = (status: number): boolean => status !== 204

function headersOfFirst({ status, headers }: OutgoingHead, body: Buffer, { cacheStatus }: Remark): string[] {
  const sent = [...headers]
  if (mayHaveLength(status) && fieldOf(headers, 'content-length') === undefined)
    sent.push('Content-Length', String(body.length))
  sent.push('Cache-Status', cacheStatus)
  return sent
}

export function sendLarge(
  { request, response }: ReadVisit,
  stored: StoredResponse,
  remark: Remark,
  { open, onGone }: LargeSource,
) {
  const { size } = stored
  const headers = headersFor(stored, 'identity', size, remark)
  const result = answerFrom({ status: stored.status, headers, size }, request)
  if (result.kind === 'not-modified') {
    response.writeHead(304, notModified(headers, remark))
    return void response.end()
  }
  if (result.kind === 'unsatisfiable') return sendUnsatisfiable(response, size, remark)
  const { start, end } = result.kind === 'part' ? result : { start: 0, end: size - 1 }
  const content = request.method === 'HEAD' ? undefined : open(start, end + 1)
  if (request.method !== 'HEAD' && !content) return onGone()
  if (result.kind === 'part') {
    setLength(headers, end - start + 1)
    headers.push('Content-Range', `bytes ${start}-${end}/${size}`)
    response.writeHead(206, headers)
  } else {
    response.writeHead(stored.status, stored.reason, headers)
  }
  if (!content) return void response.end()
  // If the file is damaged or too short, the connection is closed, so that no client takes a part for the whole.
  sendPart(content, response).catch(() => response.destroy())
}

function sendUnsatisfiable(response: ReadResponse, size: number, { cacheStatus }: Remark) {
  response.writeHead(416, ['Content-Range', `bytes */${size}`, 'Content-Length', '0', 'Cache-Status', cacheStatus])
  response.end()
}

export function notModified(headers: readonly string[], { ageSeconds, cacheStatus }: Remark): string[] {
  const kept = notModifiedHeaders(headers)
  if (ageSeconds !== undefined) kept.push('Age', String(ageSeconds))
  kept.push('Cache-Status', cacheStatus)
  return kept
}

export function setLength(headers: string[], length: number) {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === 'content-length') headers[at + 1] = String(length)
  }
}

/** Another encoding is another sequence of bytes, so a strong ETag does not hold for it (RFC 9110, section 8.8.3.3). */
function weakenTag(headers: string[]) {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === 'etag' && headers[at + 1]?.startsWith('"'))
      headers[at + 1] = `W/${headers[at + 1]}`
  }
}
