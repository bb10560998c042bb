/**
 * What an app learns about its visitor: the address and the protocol. X-Forwarded headers of a visitor are not
 * forwarded; those of a proxy in front of us are, where the operator has configured its address.
 */

import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import { clientNetwork, trimBlanks } from '../../http/index.ts'
import { isEncrypted } from '../tls/encrypted.ts'

/**
 * The service itself has this address where it asks for a page, and is no visitor. It is one of the loopback: none but programs of
 * this machine can have it.
 */
export const SERVICE_PEER = '127.83.72.1'

export type Visitor = { address: string | undefined; protocol: 'http' | 'https' }

export function createForwarded() {
  let trusted = new BlockList()
  let hasTrusted = false
  const jobs = new WeakSet<Socket>()
  const ours = new WeakSet<Socket>()
  let ofJobs = new BlockList()

  const isTrusted = (peer: string, socket: Socket): boolean =>
    hasTrusted && trusted.check(peer, isIP(peer) === 6 ? 'ipv6' : 'ipv4') && !jobs.has(socket)

  return {
    /** Whether a proxy is at the other end of a connection from this address. */
    isTrusted,
    /** A build or an app is at the other end. It is no proxy, even where the addresses of jobs are in a trusted range. */
    addJob: (socket: Socket) => void jobs.add(socket),
    /** To be called first with each new connection: jobs may come to any socket of the edge that they reach. */
    meet(socket: Socket) {
      const peer = peerOf(socket)
      if (peer !== undefined && isIP(peer) === 4 && ofJobs.check(peer, 'ipv4')) jobs.add(socket)
      if (peer === SERVICE_PEER) ours.add(socket)
    },
    /** Whether the service itself is at the other end, of a connection that was met. */
    isOurs: (socket: Socket): boolean => ours.has(socket),
    /** Addresses, or ranges such as `10.0.0.0/8`. `jobNetwork` is the range in which builds and apps have their addresses. */
    trust(proxies: readonly string[], jobNetwork?: string) {
      trusted = listOf(proxies)
      hasTrusted = proxies.length > 0
      ofJobs = listOf(jobNetwork === undefined ? [] : [jobNetwork])
    },

    /** Only the visitor's protocol, for a caller that has not parsed all headers. */
    protocolOf(socket: Socket, header: (name: string) => string | undefined): Visitor['protocol'] {
      if (!hasTrusted || !isTrusted(peerOf(socket) ?? '', socket)) return ownProtocol(socket)
      const named = header('x-forwarded-proto')
      return named === undefined ? ownProtocol(socket) : toProtocol(named)
    },

    /** The client's own address; undefined where a trusted proxy reports none. */
    addressOf(socket: Socket, header: (name: string) => string | undefined): string | undefined {
      const peer = peerOf(socket)
      if (peer === undefined || !isTrusted(peer, socket)) return peer
      const before = header('x-forwarded-for') ?? ''
      const address = trimBlanks(before.slice(before.lastIndexOf(',') + 1))
      return isIP(address) === 0 ? undefined : address
    },

    /** The client that a request counts for in limits per client: the network of its address. */
    clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string | undefined {
      const address = this.addressOf(socket, (name) => headers[name]?.toString())
      return address && clientNetwork(address)
    },

    /** The address of a build or an app at the other end; undefined for any other peer. */
    jobAddressOf: (socket: Socket): string | undefined => (jobs.has(socket) ? peerOf(socket) : undefined),

    /** Whether a build or an app has sent a request: on a connection of its own, or through a proxy in front. */
    isJob(request: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
      if (jobs.has(request.socket)) return true
      const client = hasTrusted ? this.clientOf(request) : undefined
      return client !== undefined && isIP(client) === 4 && ofJobs.check(client, 'ipv4')
    },

    visitorOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): Visitor {
      const peer = peerOf(socket)
      if (peer === undefined || !isTrusted(peer, socket)) return { address: peer, protocol: ownProtocol(socket) }
      const before = headers['x-forwarded-for']
      const named = headers['x-forwarded-proto']?.toString()
      const protocol = named === undefined ? ownProtocol(socket) : toProtocol(named)
      return { address: before ? `${before}, ${peer}` : peer, protocol }
    },
  }
}

/** A dual-stack socket writes an IPv4 address with a prefix. */
function peerOf({ remoteAddress }: Socket): string | undefined {
  return remoteAddress?.startsWith(MAPPED) ? remoteAddress.slice(MAPPED.length) : remoteAddress
}

const MAPPED = '::ffff:'

const ownProtocol = (socket: Socket): Visitor['protocol'] => (isEncrypted(socket) ? 'https' : 'http')
function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

const toProtocol = (value: string | undefined): Visitor['protocol'] =>
  trimBlanks(value ?? '').toLowerCase() === 'https' ? 'https' : 'http'

export type Forwarded = ReturnType<typeof createForwarded>
