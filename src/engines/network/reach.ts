/**
 * Whether a server that a job could not reach answers now. The service calls it on behalf of a tenant, who chose the name and
 * the port: so the name is resolved first, each address is checked against the rules for jobs, and the very address that passed
 * is called. Only a request without a path, a body or credentials is sent; of the response, only the status is used.
 */
import { Resolver as DnsResolver } from 'node:dns/promises'
import { request as requestByHttp } from 'node:http'
import { request as requestByHttps } from 'node:https'
import { connect, isIPv4 } from 'node:net'
import type { Range } from './addresses.ts'
import type { Resolver } from './dns/resolvers.ts'
import { refusalsNow } from './firewall/refusals.ts'
import type { Policy } from './settings.ts'

/** `tcp`: the protocol is not known, so an accepted connection counts as an answer. */
export type Endpoint = { protocol: 'http' | 'https' | 'tcp'; host: string; port: number }

export type ReachOptions = {
  policy: Policy
  block: Range
  resolvers(): Promise<readonly Resolver[]>
  /** How long one address may take. */
  timeoutMs?: number
}

const TIMEOUT_MS = 5000
const RESOLVE_MS = 2000
/** Of one name. */
const MAX_ADDRESSES = 4

/** False for what is not allowed, has no address, does not accept a connection, or fails. */
export type Answers = (endpoint: Endpoint) => Promise<boolean>

export function createReach({ policy, block, resolvers, timeoutMs = TIMEOUT_MS }: ReachOptions): Answers {
  async function addressesOf(host: string): Promise<string[]> {
    if (isIPv4(host)) return [host]
    const servers = (await resolvers()).map(({ address, port }) => `${address.replace(/%.*$/, '')}:${port}`)
    const resolver = new DnsResolver({ timeout: RESOLVE_MS, tries: 1 })
    resolver.setServers(servers.map(withBrackets))
    return resolver.resolve4(host).catch(() => [])
  }

  return async function answers({ protocol, host, port }) {
    const isBlocked = refusalsNow({ policy, block })
    const addresses = (await addressesOf(host)).filter((address) => !isBlocked({ address, port }))
    for (const address of addresses.slice(0, MAX_ADDRESSES)) {
      const isThere = protocol === 'tcp' ? accepts(address, port) : serves({ protocol, host, port }, address)
      if (await isThere) return true
    }
    return false
  }

  function accepts(address: string, port: number): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: address, port, signal: AbortSignal.timeout(timeoutMs) })
      const settle = (isThere: boolean) => {
        resolve(isThere)
        socket.destroy()
      }
      socket.once('connect', () => settle(true))
      socket.on('error', () => settle(false))
    })
  }

  function serves({ protocol, host, port }: Endpoint, address: string): Promise<boolean> {
    const isTls = protocol === 'https'
    const isUsual = port === (isTls ? 443 : 80)
    return new Promise((resolve) => {
      const request = (isTls ? requestByHttps : requestByHttp)({
        host: address,
        port,
        method: 'HEAD',
        path: '/',
        headers: { host: isUsual ? host : `${host}:${port}`, 'user-agent': 'Headland' },
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        // The certificate is not checked: nothing that is sent or received is secret, and the build checks it itself.
        ...(isTls ? { rejectUnauthorized: false, ...(isIPv4(host) ? {} : { servername: host }) } : {}),
      })
      request.once('response', (response) => {
        resolve(isWell(response.statusCode ?? 0))
        response.destroy()
      })
      request.on('error', () => resolve(false))
      request.end()
    })
  }
}

/** A proxy in front of a server that is down answers with 5xx. A server that does not implement HEAD (501) is up. */
const isWell = (status: number): boolean => status < 500 || status === 501

const withBrackets = (server: string): string => {
  const at = server.lastIndexOf(':')
  const [address, port] = [server.slice(0, at), server.slice(at + 1)]
  return address.includes(':') ? `[${address}]:${port}` : server
}
