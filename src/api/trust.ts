/** Which peers are believed when they say for which client they send a request. */
import { BlockList, isIP } from 'node:net'

/** A peer without an address is an edge of this service, on the Unix socket. */
export function createTrust(proxies: readonly string[]): (address: string | undefined) => boolean {
  const trusted = new BlockList()
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    if (address === undefined) return true
    const peer = address.replace(/^::ffff:(?=\d+\.)/i, '')
    return trusted.check(peer, isIP(peer) === 6 ? 'ipv6' : 'ipv4')
  }
}
