/** Addresses as text in one form. */
import { isIP } from 'node:net'

/** Lower case and shortest form (RFC 5952), so that equal addresses are equal text. */
export const canonical = (address: string): string =>
  isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address
