/** A visitor who waits for a response, or reads along with others. */
import { toClient } from '../http/headers.ts'
import { PAGES, type Page, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { Failure } from '../proxy/upstream/instances.ts'
import type { Outgoing, Reader, Way } from './fetches.ts'
import { answerFrom } from './policy/validation.ts'
import { notModified } from './reply.ts'
import type { StoredResponse } from './store/object.ts'

type Parts = {
  /** Our line in Cache-Status. */
  statusOf(way: Way): string
  whole(stored: StoredResponse, way: Way, first?: Outgoing): void
  askAlone(): void
  /** The reader's own conditions went to the app, and were answered there. */
  isAsItCame: boolean
}

const PAGE_OF: Record<Failure, Page> = { busy: PAGES.busy, late: PAGES.late, broken: PAGES.badGateway }

export function createReader({ request, response }: Visit, { statusOf, whole, askAlone, isAsItCame }: Parts): Reader {
  /** He has all that he needs, and the rest is for others. */
  let isServed = false
  const reader: Reader = {
    headers: request.headers,
    onDrain: () => undefined,
    interim({ status, reason, headers }) {
      // RFC 9110, section 15.2: passed on, except to HTTP/1.0, which does not know them.
      if (request.httpVersion !== '1.1' || response.headersSent || !response.socket) return
      let head = `HTTP/1.1 ${status} ${reason}\r\n`
      const said = toClient(headers).headers
      for (let at = 0; at < said.length; at += 2) head += `${said[at]}: ${said[at + 1]}\r\n`
      response.socket.write(`${head}\r\n`, 'latin1')
    },
    whole,
    begin({ status, reason, headers }, way) {
      const cacheStatus = statusOf(way)
      const question = { method: request.method ?? 'GET', headers: request.headers }
      if (
        !isAsItCame &&
        answerFrom({ status, headers, size: Number.MAX_SAFE_INTEGER }, question).kind === 'not-modified'
      ) {
        isServed = true
        response.writeHead(304, notModified(headers, { ageSeconds: undefined, cacheStatus }))
        return void response.end()
      }
      headers.push('Cache-Status', cacheStatus)
      try {
        response.writeHead(status, reason, headers)
      } catch {
        // A status that Node's writer does not let out.
        isServed = true
        return sendPage(response, PAGES.badGateway)
      }
      response.on('drain', () => reader.onDrain())
      // Together with the first bytes where they are there already, else alone: somebody may wait for the head.
      setImmediate(() => {
        if (!response.writableEnded && !response.destroyed && response.writableLength === 0) response.flushHeaders()
      })
    },
    write: (chunk) => isServed || response.destroyed || response.write(chunk),
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
