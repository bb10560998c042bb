/** At which addresses the service and its sites are reached. */
import type { AddressInfo } from 'node:net'
import type { SiteAccess } from './engines/index.ts'
import { type Config, formatListen, type Listen } from './settings.ts'

/** Where a server is reached from this machine; one that listens on all addresses is reached over the loopback. */
export function urlOn({ address, port }: AddressInfo): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address] ?? address
  return `http://${formatListen({ host, port })}`
}

/** Where a service with this setting is reached from this machine; undefined where the system chooses the port. */
export const serviceAt = ({ host, port }: Listen): string | undefined =>
  port === 0 ? undefined : urlOn({ address: host, port, family: '' })

/** A port that is in use is the likeliest failure of a first start, so the message names the setting to change. */
export const cannotListen = (setting: string, listen: Listen) => (error: Error) => {
  const where = formatListen(listen)
  if (error.message.includes('EACCES'))
    throw new Error(
      `only root, or a program with CAP_NET_BIND_SERVICE, may listen on ${where} (setting ${setting}): run the service as root, or with AmbientCapabilities=CAP_NET_BIND_SERVICE in its systemd unit, or choose a port above 1023`,
    )
  if (!error.message.includes('EADDRINUSE')) throw error
  throw new Error(`another program listens on ${where}: stop it, or choose another port with the setting ${setting}`)
}

/** An environment's host is its label under the domain; scheme and port are those by which visitors reach the edge. */
export function siteUrls({ domain, edgeUrl }: Config, boundPort: number): (hostLabel: string) => string {
  const front = new URL(edgeUrl ?? `http://${domain}:${boundPort}`)
  return (hostLabel) => `${front.protocol}//${hostLabel}.${domain}${front.port ? `:${front.port}` : ''}`
}

/** How builds and apps reach the sites: as visitors do. `edgePort` is the one that the edge listens on. */
export function siteAccess({ domain, edgeUrl, publicAddresses }: Config, edgePort: number): SiteAccess {
  const front = edgeUrl === undefined ? undefined : new URL(edgeUrl)
  const isTls = front?.protocol === 'https:'
  const plainPort = front && !isTls ? Number(front.port || 80) : edgePort
  return {
    ports: [...new Set([edgePort, plainPort])].filter((port) => port !== 0),
    domain,
    tlsPort: isTls ? Number(front.port || 443) : undefined,
    publicAddresses,
  }
}

/** The port at which visitors reach the edge, or the proxy in front of it, by TLS. */
export function tlsPortOf({ edgeUrl }: Config): number {
  const front = edgeUrl === undefined ? undefined : new URL(edgeUrl)
  return front?.protocol === 'https:' && front.port ? Number(front.port) : 443
}

/** The host names of the service itself. */
export const ownHosts = ({ publicUrl, edgeUrl }: Config): string[] =>
  [publicUrl, edgeUrl].flatMap((url) => (url === undefined ? [] : new URL(url).hostname))
