/** The settings of nodes, which run apps in a cluster, and what the firewall there is made of. */
import { isIPv4 } from 'node:net'
import { parseList, type Setting, setting } from '../setting-texts.ts'
import type { Isolation } from '../swarm/index.ts'

export type NodeConfig = {
  edgeAddresses: string[]
  blockedAddresses: string[]
  /** Each `address:port`. */
  appsMayCall: string[]
  appResolvers: string[]
}

export const NODE_SETTINGS: { [K in keyof NodeConfig]: Setting<NodeConfig[K]> } = {
  edgeAddresses: setting(
    '',
    'With apps on a swarm: IPv4 addresses or ranges of the machines with edges and control processes, separated by commas. Nothing else reaches apps.',
    parseIpv4Ranges,
  ),
  blockedAddresses: setting(
    '',
    'With apps on a swarm: public IPv4 addresses or ranges that apps do not reach, separated by commas: those of your nodes, managers and registries. Apps never reach private ones.',
    parseIpv4Ranges,
  ),
  appsMayCall: setting(
    '',
    'With apps on a swarm: exceptions, `address:port` in IPv4, separated by commas, such as the API for apps and a CMS in a private network.',
    parseIpv4Ports,
  ),
  appResolvers: setting(
    '',
    'With apps on a swarm: IPv4 addresses of the DNS resolvers of nodes where these are private, separated by commas.',
    parseIpv4Ranges,
  ),
}

export const isolationOf = (config: NodeConfig): Isolation => ({
  edges: config.edgeAddresses,
  blocked: config.blockedAddresses,
  allowed: config.appsMayCall.map((one) => {
    const [address = '', port] = one.split(':')
    return { address, port: Number(port) }
  }),
  resolvers: config.appResolvers,
})

const isIpv4Range = (text: string): boolean => isIPv4(text.replace(/\/(\d|[12]\d|3[0-2])$/, ''))

function parseIpv4Ranges(text: string): string[] {
  const ranges = parseList(text)
  if (!ranges.every(isIpv4Range))
    throw new Error('it must be IPv4 addresses or ranges separated by commas, as in 203.0.113.7,10.0.4.0/24')
  return ranges
}

function parseIpv4Ports(text: string): string[] {
  const ports = parseList(text)
  const isPort = (port = '') => /^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535
  for (const [address = '', port, ...rest] of ports.map((one) => one.split(':')))
    if (!isIpv4Range(address) || !isPort(port) || rest.length > 0)
      throw new Error('it must be address:port in IPv4 separated by commas, as in 10.0.0.5:8081')
  return ports
}
