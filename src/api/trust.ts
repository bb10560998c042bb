/** Which peers are believed when they say for which client they send a request. */
import { createAddressMatch } from '../http/index.ts'

/** A peer without an address is an edge of this service, on the Unix socket. */
export function createTrust(proxies: readonly string[]): (address: string | undefined) => boolean {
  const isTrusted = createAddressMatch(proxies)
  return (address) => address === undefined || isTrusted(address)
}
