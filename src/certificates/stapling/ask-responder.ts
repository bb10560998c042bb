/**
 * Asks an OCSP responder by HTTP (RFC 6960, appendix A). Its address stands in the certificate, which may be an upload of a tenant:
 * it is called only where tenants may call, redirects are not followed, and the answer is limited in size and time.
 */
import { request } from 'node:http'
import { isIP } from 'node:net'
import type { LookUp } from '../../reach/index.ts'

const TIMEOUT_MS = 15_000
const MAX_BYTES = 64 * 1024

export type MayCall = (address: string, port: number) => boolean

/** How names are looked up, and which addresses may be called. */
export type Calling = { lookUp: LookUp; mayCall: MayCall }

export class ResponderFailed extends Error {}

export async function askResponder(url: string, body: Buffer, calling: Calling, signal: AbortSignal): Promise<Buffer> {
  if (!URL.canParse(url)) throw new ResponderFailed('the certificate names no usable address')
  const { hostname, port, pathname, search, host } = new URL(url)
  const toPort = Number(port || 80)
  const address = await resolve(hostname, toPort, calling)
  return new Promise((done, reject) => {
    const fail = (message: string, cause?: unknown) => reject(new ResponderFailed(`${host}: ${message}`, { cause }))
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const asked = request({
      host: address,
      port: toPort,
      path: `${pathname}${search}`,
      method: 'POST',
      agent: false,
      signal: AbortSignal.any([signal, timeout]),
      headers: { host, 'content-type': 'application/ocsp-request', 'content-length': body.length },
    })
    asked.once('error', (error) =>
      fail(timeout.aborted ? `no answer within ${TIMEOUT_MS / 1000} seconds` : error.message, error),
    )
    asked.once('response', (response) => {
      if (response.statusCode !== 200) {
        asked.destroy()
        return fail(`it answered with status ${response.statusCode}`)
      }
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_BYTES) response.destroy(new Error(`the answer has more than ${MAX_BYTES} bytes`))
        else chunks.push(chunk)
      })
      response.once('error', (error) => fail(error.message, error))
      response.once('end', () => done(Buffer.concat(chunks)))
    })
    asked.end(body)
  })
}

/**
 * One address of the name, where all of them may be called: a name with a private address among others is refused. A tenant
 * chooses the name, so it is not looked up by `getaddrinfo`, which would hold a thread that files need.
 */
async function resolve(hostname: string, port: number, { lookUp, mayCall }: Calling): Promise<string> {
  const found = isIP(hostname) === 0 ? await lookUp(hostname) : { addresses: [hostname] }
  if (found === 'no answer') throw new ResponderFailed(`${hostname}: DNS does not answer`)
  const addresses = found.addresses.filter((address) => isIP(address) === 4)
  const [first] = addresses
  if (first === undefined) throw new ResponderFailed(`${hostname} has no IPv4 address`)
  if (!addresses.every((address) => mayCall(address, port))) {
    throw new ResponderFailed(`${hostname} leads to an address that certificates may not lead to`)
  }
  return first
}
