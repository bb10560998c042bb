/** Sends a stored response to one reader: in the form that he takes, whole or a part, or only that his copy is right. */
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import type { Encoding } from '../http/negotiate.ts'
import type { Outgoing } from './fetches.ts'
import { fieldOf, type RequestHeaders } from './fields/header-list.ts'
import { answerFrom, notModifiedHeaders } from './policy/validation.ts'
import { headersOf, type StoredResponse } from './store/object.ts'
import { chooseRepresentation, type Representation } from './store/representation.ts'

export type Question = { method: string; headers: RequestHeaders }

/** What we say about a response beside what is stored. */
export type Remark = {
  ageSeconds: number | undefined
  cacheStatus: string
  /** As it came from the app just now: its first readers get it with everything that it said. */
  first?: Outgoing | undefined
}

/** The headers of a whole response in this form. The lane's and the full parser's readers get the same. */
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

export function sendStored(
  response: ServerResponse,
  question: Question,
  stored: StoredResponse,
  body: Buffer,
  remark: Remark,
) {
  const accepted = question.headers['accept-encoding'] as string | undefined
  const representation: Representation = remark.first
    ? { encoding: 'identity', body }
    : chooseRepresentation(stored, body, accepted)
  const headers = remark.first
    ? headersOfFirst(remark.first, body, remark)
    : headersOfRepresentation(stored, representation, remark)
  const size = representation.body.length
  const answer = answerFrom({ status: stored.status, headers, size }, question)
  switch (answer.kind) {
    case 'not-modified':
      response.writeHead(304, notModified(headers, remark))
      return void response.end()
    case 'unsatisfiable':
      return sendUnsatisfiable(response, size, remark)
    case 'part': {
      const { start, end } = answer
      setLength(headers, end - start + 1)
      headers.push('Content-Range', `bytes ${start}-${end}/${size}`)
      response.writeHead(206, headers)
      return void response.end(representation.body.subarray(start, end + 1))
    }
    case 'whole':
      response.writeHead(stored.status, stored.reason, headers)
      return void response.end(question.method === 'HEAD' ? undefined : representation.body)
  }
}

/** RFC 9110, section 8.6. */
const mayHaveLength = (status: number): boolean => status !== 204

function headersOfFirst({ status, headers }: Outgoing, body: Buffer, { cacheStatus }: Remark): string[] {
  const sent = [...headers]
  if (mayHaveLength(status) && fieldOf(headers, 'content-length') === undefined)
    sent.push('Content-Length', String(body.length))
  sent.push('Cache-Status', cacheStatus)
  return sent
}

/** One that is too large for memory. `read` gives a part of it, its end not included; undefined when it is gone. */
export function sendLarge(
  response: ServerResponse,
  question: Question,
  stored: StoredResponse,
  remark: Remark,
  read: (start: number, end: number) => Readable | undefined,
  onGone: () => void,
) {
  const { size } = stored
  const headers = headersFor(stored, 'identity', size, remark)
  const answer = answerFrom({ status: stored.status, headers, size }, question)
  if (answer.kind === 'not-modified') {
    response.writeHead(304, notModified(headers, remark))
    return void response.end()
  }
  if (answer.kind === 'unsatisfiable') return sendUnsatisfiable(response, size, remark)
  const { start, end } = answer.kind === 'part' ? answer : { start: 0, end: size - 1 }
  const content = question.method === 'HEAD' ? undefined : read(start, end + 1)
  if (question.method !== 'HEAD' && !content) return onGone()
  if (answer.kind === 'part') {
    setLength(headers, end - start + 1)
    headers.push('Content-Range', `bytes ${start}-${end}/${size}`)
    response.writeHead(206, headers)
  } else {
    response.writeHead(stored.status, stored.reason, headers)
  }
  if (!content) return void response.end()
  // A file that turns out to be damaged or shorter breaks the response off, so that nobody takes half for whole.
  pipeline(content, response, (error) => error && response.destroy())
}

function sendUnsatisfiable(response: ServerResponse, size: number, { cacheStatus }: Remark) {
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

/** Another form is another sequence of bytes, so a tag that promises bytes does not hold for it (RFC 9110, 8.8.3.3). */
function weakenTag(headers: string[]) {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() === 'etag' && headers[at + 1]?.startsWith('"'))
      headers[at + 1] = `W/${headers[at + 1]}`
  }
}
