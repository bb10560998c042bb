/**
 * Calls by HTTP that the service makes for tenants, who choose the address: notices, and statuses of commits. The name is resolved
 * once, its addresses are checked, and one that passed is called, so that a second answer of DNS cannot lead elsewhere. Redirects
 * are not followed; the time and the size of the answer are bounded.
 */
import { lookup, Resolver } from 'node:dns/promises'
import { type IncomingHttpHeaders, type IncomingMessage, request as requestByHttp } from 'node:http'
import { request as requestByHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { createAddressRules, type HostRules } from './addresses.ts'

export type HttpCall = {
  method: string
  url: string
  headers?: Readonly<Record<string, string>>
  body?: string | Buffer
}

export type SendOptions = {
  /** Of the answer's body; the rest is not read. */
  maxBytes: number
  /** Of everything, the question to DNS included. */
  timeoutMs: number
  signal?: AbortSignal
}

export type HttpAnswer = {
  status: number
  headers: IncomingHttpHeaders
  /** At most `maxBytes` of it. */
  body: Buffer
}

/** The call is not made, and would not be at another time. */
export class EgressRefused extends Error {
  override name = 'EgressRefused'
}

/** There was no answer. There may be one at another time. */
export class EgressFailed extends Error {
  override name = 'EgressFailed'
}

type Parts = HostRules & {
  /** Those of the system if there are none. */
  dnsServers?: readonly string[]
  /** In tests: in place of DNS, and certificates to trust. */
  resolve?(host: string): Promise<string[]>
  ca?: string
}

const RESOLVE_MS = 3000
/** Of one name. */
const MAX_ADDRESSES = 8
const MAX_HEADER_BYTES = 16 * 1024

export function createEgress(parts: Parts) {
  const rules = createAddressRules(parts)
  const resolve = parts.resolve ?? ((host: string) => askDns(host, parts.dnsServers ?? []))

  /** What can be known of an address without a question to DNS. Throws EgressRefused. */
  function check(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url || !/^https?:$/.test(url.protocol)) throw new EgressRefused('the address is not one of https')
    if (url.username || url.password) throw new EgressRefused('the address has a user or a password in it')
    if (rules.isAllowedByOperator(url.origin)) return url
    if (url.protocol !== 'https:') throw new EgressRefused('the address is not one of https')
    const host = hostOf(url)
    if (isIP(host) ? rules.isInside(host) : isLocalName(host)) throw inside(host)
    return url
  }

  async function addressesOf(url: URL): Promise<string[]> {
    const host = hostOf(url)
    if (isIP(host)) return [host]
    // The operator's own names may be in the hosts file.
    if (rules.isAllowedByOperator(url.origin)) return (await lookup(host, { all: true })).map(({ address }) => address)
    const found = await resolve(host)
    if (found.length === 0) throw new EgressFailed(`${host} has no address`)
    // One that leads inside among others is no accident.
    if (found.some((address) => rules.isInside(address))) throw inside(host)
    return found.slice(0, MAX_ADDRESSES)
  }

  return {
    check,

    /** Any status is an answer. Throws EgressRefused or EgressFailed. */
    async send(call: HttpCall, { maxBytes, timeoutMs, signal }: SendOptions): Promise<HttpAnswer> {
      const url = check(call.url)
      const late = AbortSignal.timeout(timeoutMs)
      const ending = signal ? AbortSignal.any([signal, late]) : late
      try {
        const addresses = await within(addressesOf(url), ending)
        return await within(ask({ ...call, url }, { addresses, ca: parts.ca, maxBytes, ending }), ending)
      } catch (error) {
        if (error instanceof EgressRefused || error instanceof EgressFailed) throw error
        if (late.aborted) throw new EgressFailed(`no answer within ${Math.round(timeoutMs / 1000)} seconds`)
        throw new EgressFailed(messageOf(error), { cause: error })
      }
    },
  }
}

export type Egress = ReturnType<typeof createEgress>

type Asking = { addresses: readonly string[]; ca: string | undefined; maxBytes: number; ending: AbortSignal }

function ask(
  { method, url, headers = {}, body }: Omit<HttpCall, 'url'> & { url: URL },
  { addresses, ca, maxBytes, ending }: Asking,
): Promise<HttpAnswer> {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }))
  // The name goes into `Host`, SNI and the check of the certificate; it is not resolved again.
  const known: LookupFunction = (_host, { all }, done) => {
    const [first] = checked
    if (all) done(null, checked)
    else done(null, first?.address ?? '', first?.family)
  }
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestByHttps : requestByHttp)({
      protocol: url.protocol,
      hostname: hostOf(url),
      ...(url.port === '' ? {} : { port: url.port }),
      path: `${url.pathname}${url.search}`,
      method,
      headers: {
        'user-agent': 'Headland',
        'accept-encoding': 'identity',
        ...headers,
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      },
      agent: false,
      lookup: known,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal: ending,
      ...(ca === undefined ? {} : { ca }),
    })
    request.once('response', (response) => {
      readUpTo(response, maxBytes).then(
        (read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }),
        reject,
      )
    })
    request.once('upgrade', (_response, socket) => {
      socket.destroy()
      reject(new EgressFailed('the receiver switched to another protocol'))
    })
    request.on('error', reject)
    request.end(body)
  })
}

async function readUpTo(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part)
    length += part.length
    // Leaving the loop closes the connection.
    if (length >= maxBytes) break
  }
  return Buffer.concat(parts).subarray(0, maxBytes)
}

/** Of a name that a tenant chose: DNS alone is asked, as the system's look-up would read files and hold one of few threads. */
async function askDns(host: string, servers: readonly string[]): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS, tries: 2, maxTimeout: RESOLVE_MS })
  if (servers.length > 0) resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return [v4, v6].flatMap((asked) => (asked.status === 'fulfilled' ? asked.value : []))
}

/** Rejects when the signal is aborted, although the work goes on to its own end. */
function within<T>(work: Promise<T>, ending: AbortSignal): Promise<T> {
  if (ending.aborted) return Promise.reject(ending.reason)
  return new Promise((resolve, reject) => {
    const give = () => reject(ending.reason)
    ending.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => ending.removeEventListener('abort', give))
  })
}

const inside = (host: string) =>
  new EgressRefused(`${host} is an address inside, which the service does not call (the setting egressHosts)`)

/** Without the brackets of an IPv6 address and without the dot at the end of a name. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

const isLocalName = (host: string): boolean => /(?:^|\.)(?:localhost|local|internal)$/.test(host)

const MAX_MESSAGE = 200

function messageOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return (code && !message.includes(code) ? `${code}: ${message}` : message).slice(0, MAX_MESSAGE)
}
