/** Whether a caller is on this machine. Decided by the connection, since headers can be forged. */
import { isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'

/** A proxy on this machine is a loopback peer too, but the caller behind it is not: it says so in a header. */
export function isFromThisMachine(request: FastifyRequest): boolean {
  const { forwarded, 'x-forwarded-for': forwardedFor, via } = request.headers
  if (forwarded !== undefined || forwardedFor !== undefined || via !== undefined) return false
  return isLoopback(request.socket.remoteAddress ?? '')
}

export function isLoopback(address: string): boolean {
  const peer = address.replace(/^::ffff:/, '')
  return peer === '::1' || (isIPv4(peer) && peer.startsWith('127.'))
}
