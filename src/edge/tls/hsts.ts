/**
 * Strict-Transport-Security (RFC 6797): tells browsers to use HTTPS only, for so many seconds. It is added to responses over TLS
 * that have none of their own.
 */
import type { Wire } from '../http/wire.ts'
import { isEncrypted } from './encrypted.ts'

type ChangeHeaders = (headers: readonly string[]) => string[]

const NAME = 'Strict-Transport-Security'
const LOWER = NAME.toLowerCase()

export function createHsts() {
  /** Undefined where browsers are told nothing. */
  let value: string | undefined

  return {
    setHsts(seconds: number) {
      value = seconds > 0 ? `max-age=${seconds}` : undefined
    },

    /** The change of headers on this connection, after the given one. */
    changeHeaders(socket: object, change: ChangeHeaders | undefined): ChangeHeaders | undefined {
      if (value === undefined || !isEncrypted(socket)) return change
      const added = [NAME, value]
      return (headers) => {
        const changed = change ? change(headers) : [...headers]
        return hasOwn(changed) ? changed : [...changed, ...added]
      }
    },

    /** A response of the fast path on this connection. */
    changeWire(socket: object, wire: Wire): Wire {
      if (value === undefined || !isEncrypted(socket)) return wire
      const { head, body } = wire instanceof Uint8Array ? split(wire) : wire
      if (head.toLowerCase().includes(`\n${LOWER}:`)) return wire
      return { head: `${head.slice(0, -2)}${NAME}: ${value}\r\n\r\n`, body }
    },
  }
}

function hasOwn(headers: readonly string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === LOWER) return true
  return false
}

function split(wire: Buffer): { head: string; body: Buffer } {
  const end = wire.indexOf('\r\n\r\n') + 4
  return { head: wire.toString('latin1', 0, end), body: wire.subarray(end) }
}
