/**
 * What an app learns about its visitor: the address and the protocol. X-Forwarded headers of a visitor are not
 * forwarded; those of a proxy in front of us are, where the operator has configured its address.
 */

import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import { clientNetwork, trimBlanks } from '../../http/index.ts'
import { isEncrypted } from '../tls/encrypted.ts'

export type Visitor = { address: string | undefined; protocol: 'http' | 'https' }

export function createForwarded() {
  let trusted = new BlockList()
  let hasTrusted = false

  const isTrusted = (peer: string): boolean => hasTrusted && trusted.check(peer, isIP(peer) === 6 ? 'ipv6' : 'ipv4')

  return {
    isTrusted,
    /** Addresses, or ranges such as `10.0.0.0/8`. */
    trust(proxies: readonly string[]) {
      trusted = new BlockList()
      hasTrusted = proxies.length > 0
      for (const proxy of proxies) {
        const [address = '', bits] = proxy.split('/')
        const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
        if (bits === undefined) trusted.addAddress(address, family)
        else trusted.addSubnet(address, Number(bits), family)
      }
    },

    /** Only the visitor's protocol, for a caller that has not parsed all headers. */
    protocolOf(socket: Socket, header: (name: string) => string | undefined): Visitor['protocol'] {
      if (!hasTrusted || !isTrusted(socket.remoteAddress?.replace(/^::ffff:/, '') ?? '')) return ownProtocol(socket)
      const named = header('x-forwarded-proto')
      return named === undefined ? ownProtocol(socket) : toProtocol(named)
    },

    /** The client's own address; undefined where a trusted proxy reports none. */
    addressOf(socket: Socket, header: (name: string) => string | undefined): string | undefined {
      const peer = socket.remoteAddress?.replace(/^::ffff:/, '')
      if (peer === undefined || !isTrusted(peer)) return peer
      const before = header('x-forwarded-for') ?? ''
      const address = trimBlanks(before.slice(before.lastIndexOf(',') + 1))
      return isIP(address) === 0 ? undefined : address
    },

    /** The client that a request counts for in limits per client: the network of its address. */
    clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string | undefined {
      const address = this.addressOf(socket, (name) => headers[name]?.toString())
      return address && clientNetwork(address)
    },

    visitorOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): Visitor {
      const peer = socket.remoteAddress?.replace(/^::ffff:/, '')
      if (peer === undefined || !isTrusted(peer)) return { address: peer, protocol: ownProtocol(socket) }
      const before = headers['x-forwarded-for']
      const named = headers['x-forwarded-proto']?.toString()
      const protocol = named === undefined ? ownProtocol(socket) : toProtocol(named)
      return { address: before ? `${before}, ${peer}` : peer, protocol }
    },
  }
}

const ownProtocol = (socket: Socket): Visitor['protocol'] => (isEncrypted(socket) ? 'https' : 'http')

const toProtocol = (value: string | undefined): Visitor['protocol'] =>
  trimBlanks(value ?? '').toLowerCase() === 'https' ? 'https' : 'http'

export type Forwarded = ReturnType<typeof createForwarded>
