/**
 * Connections that change their protocol, such as WebSocket. Until the instance agrees with a 101 they are HTTP, and
 * nothing that the client sends is forwarded: otherwise a refused upgrade would leave the client a raw connection to
 * the instance, without our header rules. After the 101, both connections are piped into each other, and when one
 * closes, so does the other.
 */
import { type IncomingMessage, STATUS_CODES, request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { Forwarded } from '../http/forwarded.ts'
import { hasBody, toClient, toUpstream, withoutContent } from '../http/headers.ts'
import { PAGES, type Page, type RawOptions, rawPage } from '../http/pages.ts'
import type { Address } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { ServerTarget } from '../routes.ts'
import type { InFlight } from './in-flight.ts'
import { connectTo, type Pools } from './pools.ts'

/** How often a silent connection is probed by TCP keep-alive. */
const PROBE_MS = 60_000

export type Upgrade = Address & {
  request: IncomingMessage
  socket: Socket
  head: Buffer
  /** Called with the status before it is sent to the visitor. */
  onAnswer(status: number): void
  /** What the environment adds to a refusal. */
  changeHeaders: RawOptions['changeHeaders']
}

type Parts = { limits: Limits; inFlight: InFlight; pools: Pools; forwarded: Forwarded }

/**
 * Whether the upgrade is forwarded; if not, it is an ordinary request. HTTP/2 is not, because our rules would not apply
 * to the requests inside of it. Nor is a request with a body, which no protocol in use needs.
 */
export const isUpgradable = (request: IncomingMessage): boolean =>
  !hasBody(request) && !/\bh2c?\b/i.test(request.headers.upgrade ?? '')

export function createUpgrades({ limits, inFlight, pools, forwarded }: Parts) {
  return {
    forward({ request, socket, head, authority, path, onAnswer, changeHeaders }: Upgrade, target: ServerTarget) {
      const place = pools.of(target).enterStream()
      if (!place) {
        onAnswer(PAGES.busy.status)
        return refuseUpgrade(socket, PAGES.busy, { changeHeaders })
      }
      inFlight.begin(target, socket)

      const asked = sendRequest({
        host: target.host,
        port: target.port,
        method: request.method,
        path,
        headers: toUpstream(request, authority, forwarded.visitorOf(request), upgradeOf(request)),
        maxHeaderSize: limits.responseHeaderBytes,
        createConnection: () => connectTo(target),
      })
      let isAnswered = false
      const timeout = setTimeout(() => giveUp(PAGES.late), limits.responseStartMs)
      socket.once('close', () => {
        clearTimeout(timeout)
        inFlight.end(target, socket)
        place.leave()
        asked.destroy()
      })

      asked.once('upgrade', (reply, upstream, upstreamHead) => {
        answer(101)
        socket.write(head101(reply))
        join(socket, upstream as Socket, head, upstreamHead)
      })
      asked.once('response', (reply) => {
        answer(reply.statusCode ?? 502)
        socket.write(refusalHead(reply, changeHeaders))
        reply.on('error', () => socket.destroy())
        reply.once('end', () => socket.destroySoon())
        reply.pipe(socket, { end: false })
      })
      asked.on('error', () => (isAnswered ? socket.destroy() : giveUp(PAGES.badGateway)))
      asked.end()

      function answer(status: number) {
        isAnswered = true
        onAnswer(status)
        clearTimeout(timeout)
      }
      function giveUp(page: Page) {
        answer(page.status)
        refuseUpgrade(socket, page, { changeHeaders })
        asked.destroy()
      }
    },
  }
}

export type Upgrades = ReturnType<typeof createUpgrades>

const upgradeOf = ({ headers: { upgrade } }: IncomingMessage) => (upgrade === undefined ? {} : { upgrade })

export function refuseUpgrade(socket: Socket, page: Page, options?: RawOptions) {
  if (!socket.writable) return void socket.destroy()
  socket.write(rawPage(page, options))
  socket.destroySoon()
}

function join(client: Socket, upstream: Socket, fromClient: Buffer, fromUpstream: Buffer) {
  if (fromUpstream.length > 0) client.write(fromUpstream)
  if (fromClient.length > 0) upstream.write(fromClient)
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.setKeepAlive(true, PROBE_MS)
    one.setNoDelay(true)
    one.on('error', () => other.destroy())
    // What was already written to the other side is delivered first.
    one.once('end', () => other.destroySoon())
    one.once('close', () => other.destroySoon())
    one.pipe(other)
  }
}

const head101 = ({ statusMessage, rawHeaders }: IncomingMessage): string =>
  toHead(101, statusMessage, withoutContent(rawHeaders))

/** The body follows without its framing, and ends with the connection unless it has a Content-Length. */
function refusalHead(
  { statusCode = 502, statusMessage, rawHeaders }: IncomingMessage,
  changeHeaders: RawOptions['changeHeaders'],
): string {
  const { headers } = toClient(rawHeaders)
  const sent = changeHeaders ? changeHeaders(headers) : headers
  return toHead(statusCode, statusMessage, [...sent, 'connection', 'close'])
}

function toHead(status: number, reason: string | undefined, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? ''}\r\n`
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}
