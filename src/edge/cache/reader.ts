/** A client's request that waits for a fetch, or reads along while the body arrives. */
import { toClient } from '../http/headers.ts'
import { PAGES, type Page, sendPage } from '../http/pages.ts'
import type { ReadVisit } from '../http/visit.ts'
import type { Failure } from '../proxy/upstream/instances.ts'
import type { FetchOutcome, OutgoingHead, Reader } from './fetch.ts'
import { answerFrom } from './policy/validation.ts'
import { notModified } from './reply.ts'
import type { StoredResponse } from './store/object.ts'

type Parts = {
  /** The value of Cache-Status. */
  statusOf(outcome: FetchOutcome): string
  whole(stored: StoredResponse, outcome: FetchOutcome, first?: OutgoingHead): void
  askAlone(): void
  /** The app has evaluated the client's own conditions. */
  isPassedThrough: boolean
}

const PAGE_OF: Record<Failure, Page> = { busy: PAGES.busy, late: PAGES.late, broken: PAGES.badGateway }

export function createReader(
  { request, response }: ReadVisit,
  { statusOf, whole, askAlone, isPassedThrough }: Parts,
): Reader {
  /** The client got its complete response; the rest of the body is for other readers. */
  let isServed = false
  /** The head waits for the first bytes of the body. */
  let isHeadKept = false
  const reader: Reader = {
    headers: request.headers,
    onDrain: () => undefined,
    interim({ status, reason, headers }) {
      // RFC 9110, section 15.2: forwarded, except to HTTP/1.0, which does not have interim responses.
      if (request.httpVersion !== '1.1' || response.headersSent || !response.socket) return
      let head = `HTTP/1.1 ${status} ${reason}\r\n`
      const sent = toClient(headers).headers
      for (let at = 0; at < sent.length; at += 2) head += `${sent[at]}: ${sent[at + 1]}\r\n`
      response.socket.write(`${head}\r\n`, 'latin1')
    },
    whole,
    begin({ status, reason, headers }, outcome) {
      const cacheStatus = statusOf(outcome)
      if (
        !isPassedThrough &&
        answerFrom({ status, headers, size: Number.MAX_SAFE_INTEGER }, request).kind === 'not-modified'
      ) {
        isServed = true
        response.writeHead(304, notModified(headers, { ageSeconds: undefined, cacheStatus }))
        return void response.end()
      }
      headers.push('Cache-Status', cacheStatus)
      try {
        response.writeHead(status, reason, headers)
      } catch {
        // Node refuses to send this status.
        isServed = true
        return sendPage(response, PAGES.badGateway)
      }
      isHeadKept = true
      response.on('drain', () => reader.onDrain())
    },
    write(chunk) {
      if (isServed || response.destroyed) return true
      isHeadKept = false
      return response.write(chunk)
    },
    flush() {
      if (!isHeadKept || response.writableEnded || response.destroyed) return
      isHeadKept = false
      response.flushHeaders()
    },
    end() {
      if (!isServed) response.end()
    },
    fail(why) {
      const cacheStatus = statusOf({ isStored: false, isCollapsed: false, detail: why })
      if (!isServed) sendPage(response, PAGE_OF[why], { 'cache-status': cacheStatus })
    },
    askAlone,
  }
  return reader
}
