/** Stands in front of the CA, so that a test can answer for it, or see and hold back what it is asked. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '../edge/tls.ts'
import type { Scope } from '../folder.ts'
import type { Pebble } from './pebble.ts'

export type CaAnswer = { status: number; headers?: Record<string, string>; text: string }

export type Watch = {
  /** Before the CA is asked. An answer that is returned is given instead of the CA's. */
  before?(asked: { method: string; path: string; body: string }): Promise<CaAnswer | undefined> | CaAnswer | undefined
  /** After the CA has answered, before the client gets the answer, which may be changed. */
  after?(asked: { method: string; path: string }, answer: CaAnswer): Promise<CaAnswer> | CaAnswer
}

/** The CA gives addresses by the name under which it was asked, so all of them lead here. */
export async function startCaProxy(t: Scope, pebble: Pick<Pebble, 'directory' | 'ca'>, watch: Watch) {
  const own = await makeCertificate(t, { names: ['localhost'] })
  const { port } = new URL(pebble.directory)
  const server = createServer({ key: own.key, cert: own.cert }, async (asked, response) => {
    const { method = '', url: path = '', headers } = asked
    const body = await textOf(asked)
    const given = await watch.before?.({ method, path, body })
    const answer = given ?? (await pass())
    const changed = watch.after ? await watch.after({ method, path }, answer) : answer
    response.writeHead(changed.status, changed.headers).end(changed.text)

    async function pass(): Promise<CaAnswer> {
      const passed = request({ host: 'localhost', port, method, path, headers, ca: pebble.ca, agent: false }).end(body)
      const [got] = (await once(passed, 'response')) as [IncomingMessage]
      const { 'content-length': _, 'transfer-encoding': _also, ...kept } = got.headers
      return { status: got.statusCode ?? 0, headers: kept as Record<string, string>, text: await textOf(got) }
    }
  })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { directory: `https://localhost:${(server.address() as AddressInfo).port}/dir`, ca: own.cert }
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of message.setEncoding('utf8')) text += chunk
  return text
}
