/**
 * The firewall of a node that runs apps, as text for `nft -f -`: edges reach the published ports of apps, and nothing else does;
 * apps reach the internet, and neither each other, nor a node, nor private addresses. Docker's own rules stay as they are: the
 * table is one of its own, and is replaced as a whole.
 *
 * Of a connection only the replies pass unseen, so one that was made while the rules were not there ends when they are back.
 */
import { readAddressRange, writeAddressRange } from '../http/index.ts'
import { BRIDGE } from './names.ts'

export type Isolation = {
  /** Addresses that may call apps. */
  edges: readonly string[]
  /** Public addresses that apps may not call: those of nodes, managers and registries. */
  blocked: readonly string[]
  /** What apps may call although it is private or blocked, such as the sites at the edges and the API for apps. */
  allowed: readonly { address: string; port: number }[]
  /** DNS resolvers of the nodes. */
  resolvers: readonly string[]
}

export const ISOLATION_TABLE = 'headland_apps'
/** The set of that table which the kernel itself changes. */
export const CONNECTED = 'connected'

/** Private, shared, link-local, reserved and multicast addresses (RFC 6890). */
const PRIVATE = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '224.0.0.0/3'],
]

/** Of one app: simultaneous connections. */
const MAX_CONNECTIONS = 2000
const MAX_APPS = 4096

export function isolationRules({ edges, blocked, allowed, resolvers }: Isolation): string {
  const exceptions = allowed.map(
    ({ address, port }) => `ip daddr ${toAddress(address)} tcp dport ${toPort(port)} accept`,
  )
  return `table inet ${ISOLATION_TABLE}
delete table inet ${ISOLATION_TABLE}
table inet ${ISOLATION_TABLE} {
  set edges { type ipv4_addr; flags interval; auto-merge; ${elements(edges)} }
  set blocked { type ipv4_addr; flags interval; auto-merge; ${elements([...PRIVATE, ...blocked])} }
  set resolvers { type ipv4_addr; flags interval; auto-merge; ${elements(resolvers)} }
  set ${CONNECTED} { type ipv4_addr; flags dynamic; size ${MAX_APPS}; }

  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname "${BRIDGE}" ct direction reply ct state established accept
    iifname "${BRIDGE}" jump refuse
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname "${BRIDGE}" jump from_app
    oifname "${BRIDGE}" jump to_app
  }

  chain from_app {
    meta nfproto != ipv4 drop
    fib saddr . iif oif missing drop
    meta l4proto != { tcp, udp, icmp } drop
    ct state invalid drop
    ct direction reply ct state established accept
    ct state related meta l4proto icmp accept
    oifname "${BRIDGE}" jump refuse
    ct state new add @${CONNECTED} { ip saddr ct count over ${MAX_CONNECTIONS} } jump refuse
    ip daddr @resolvers meta l4proto { tcp, udp } th dport 53 accept
    ${exceptions.join('\n    ')}
    ip daddr @blocked jump refuse
    accept
  }

  chain to_app {
    ct direction reply ct state established accept
    ct state related meta l4proto icmp accept
    ip saddr @edges accept
    drop
  }

  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject
  }
}
`
}

const elements = (addresses: readonly string[]): string =>
  addresses.length === 0 ? '' : `elements = { ${addresses.map(toAddress).join(', ')} };`

/** Settings of an operator become part of a program here. */
function toAddress(text: string): string {
  const range = readAddressRange(text)
  if (range?.family !== 'ipv4') throw new Error(`${JSON.stringify(text).slice(0, 80)} is no IPv4 address`)
  return writeAddressRange(range)
}

function toPort(port: number): number {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${port} is no port`)
  return port
}
