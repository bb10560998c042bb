/**
 * Calls the public API of one Headland. Failures are thrown as `CallFailed`, which has the exit code for them. The size of a
 * response and the time to wait for it are limited, whatever the server sends.
 */
import { type Client, createClient, type Fetch, headersOf, textOf } from '../../client/index.ts'
import { type Connection, createConnection } from './connection.ts'
import { asCallFailed, failureOf } from './failures.ts'
import { withErrors } from './mapped.ts'
import type { ProxyVariables } from './proxy.ts'

/** An API credential, or the session of a user with the time at which it ends. */
export type Authorization = { userId: string; password: string } | { cookie: string; expireTime?: string }

export type Service = {
  /** Its address without a slash at the end. */
  url: string
  /** Calls any route of the API, with the types of that route. */
  client: Client
  /** As request headers. */
  authorization: Record<string, string>
  connection: Connection
}

const MAX_ERROR_BYTES = 256 * 1024

export function createService(
  url: string,
  authorization: Authorization | undefined,
  { answerMs, proxies = {} }: { answerMs?: number | undefined; proxies?: ProxyVariables } = {},
): Service {
  const connection = createConnection(url, proxies)
  const { proxy } = connection
  const client = createClient({ url, authorization, timeoutMs: answerMs, fetch: send })

  async function send(...[address, { method = 'GET', headers, body, signal }]: Parameters<Fetch>): Promise<Response> {
    const response = await connection.send(address, {
      method,
      headers: { 'user-agent': 'headland', ...(headers as Record<string, string>) },
      body: body as string | undefined,
      signal: signal as AbortSignal,
    })
    if (response.ok) return response
    const text = await textOf(response, MAX_ERROR_BYTES)
    throw failureOf({ url, status: response.status, headers: response.headers, text, proxy })
  }

  const mapped = withErrors(client, (error) => asCallFailed(error, url, proxy))
  return { url, client: filled(mapped), authorization: headersOf(authorization), connection }
}

/** An empty answer has no fields, which is better than nothing to read them of: any server may have sent it. */
function filled(client: Client): Client {
  const call = async (...given: Parameters<Client['call']>) => (await client.call(...given)) ?? {}
  return { ...client, call: call as Client['call'] }
}
