/**
 * A forward proxy as in a company network: it leads to one server, whatever the requested name, by CONNECT for TLS and
 * by absolute URLs for plain HTTP. Names that DNS does not resolve are reached only through it.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Scope } from '../folder.ts'

export type ForwardProxy = {
  host: string
  /** The requests that it received: `CONNECT name:port`, or `GET http://name/…`. */
  asked: string[]
}

type Manner = {
  /** Host and port that every connection leads to. */
  to: string
  /** `user:password` that it requires. */
  login?: string
  /** The status with which it refuses every request. */
  refusal?: string
}

export async function startForwardProxy(t: Scope, { to, login, refusal }: Manner): Promise<ForwardProxy> {
  const [host = '', port = ''] = to.split(':')
  const asked: string[] = []

  /** The status line of a refusal. */
  function refused({ method, url, headers }: IncomingMessage): string | undefined {
    asked.push(`${method} ${url}`)
    const given = headers['proxy-authorization'] ?? ''
    if (login !== undefined && given !== `Basic ${btoa(login)}`) return '407 Proxy Authentication Required'
    return refusal
  }

  const server = createServer((incoming, answer) => {
    const no = refused(incoming)
    if (no) return answer.writeHead(Number(no.slice(0, 3)), { 'proxy-authenticate': 'Basic' }).end('by the proxy')
    const { pathname, search } = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _, 'proxy-connection': __, ...headers } = incoming.headers
    const options = { host, port, method: incoming.method, path: pathname + search, headers, agent: false as const }
    const onward = request(options, (from) => {
      answer.writeHead(from.statusCode ?? 502, from.headers)
      from.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', (incoming, socket, head) => {
    const no = refused(incoming)
    if (no) return socket.end(`HTTP/1.1 ${no}\r\ncontent-length: 0\r\n\r\n`)
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy()).on('close', () => onward.destroy())
    t.after(() => onward.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
