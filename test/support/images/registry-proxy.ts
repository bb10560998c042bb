/** Stands before a real registry and does what registries do on a bad day. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from '../folder.ts'

export type Seen = { method: string; path: string; headers: IncomingMessage['headers'] }

/** Whether it has answered, and the request is not to be passed on. */
export type Fault = (seen: Seen, incoming: IncomingMessage, outgoing: ServerResponse) => boolean

export async function startRegistryProxy(t: Scope, target: string) {
  const seen: Seen[] = []
  let fault: Fault = () => false

  const server = createServer((incoming, outgoing) => {
    const one = { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers }
    seen.push(one)
    if (fault(one, incoming, outgoing)) return
    pass(incoming, outgoing)
  })

  function pass(incoming: IncomingMessage, outgoing: ServerResponse) {
    const { method, url = '', headers } = incoming
    const inner = request(new URL(url, target), { method, headers: { ...headers } }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    inner.on('error', () => outgoing.destroy())
    outgoing.on('close', () => inner.destroy())
    incoming.pipe(inner)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    /** The fault of the next requests, until another one is set. */
    set(next: Fault) {
      fault = next
    },
    /** Ends all connections. */
    cut: () => server.closeAllConnections(),
    pass,
  }
}

/** The first requests that match get this answer. */
export function answering(count: number, matches: (seen: Seen) => boolean, status: number, headers = {}): Fault {
  let left = count
  return (one, incoming, outgoing) => {
    if (left === 0 || !matches(one)) return false
    left -= 1
    incoming.resume()
    outgoing.writeHead(status, headers).end('{"errors":[{"code":"TOOMANYREQUESTS","message":"<script>"}]}')
    return true
  }
}
