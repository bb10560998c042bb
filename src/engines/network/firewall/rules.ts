/**
 * The rules of the firewall, as text for `nft -f -`. All of them are in one table of the service's own, which is replaced as a
 * whole. They match the interfaces of jobs by their names, so that opening a namespace changes no rule, and no job is ever
 * without rules.
 */
import { formatAddress, formatRange, type Range } from '../addresses.ts'
import { RECORD_LIMITS } from '../contacts.ts'
import { SITE_CALLS } from '../loopback.ts'
import { interfacesOf, LINK_PREFIX, tableOf } from '../names.ts'
import type { Exception, Policy } from '../settings.ts'
import type { SiteAccess } from '../sites.ts'

export type Rules = {
  id: string
  /** The addresses of the service's jobs. */
  block: Range
  gateway: number
  /** The far end of the gateway link, where no server listens: `trial.ts` connects to it. */
  trial: number
  /** The ports of the DNS forwarder at the gateway. */
  forwarder: { tcp: number; udp: number }
  /** The port at the gateway where the service listens to apps; undefined while it does not. */
  service?: number | undefined
  /** The port at the gateway where the edge listens to jobs; undefined while it does not. */
  edge?: number | undefined
  sites: SiteAccess
  /** Where a proxy in front of the edge is reached. */
  proxyAddresses: readonly string[]
  /** Interfaces that forward only because the service switched it on. */
  guarded: readonly string[]
  /** Users of this machine that may call apps. */
  callers: readonly number[]
  policy: Policy
}

/** Of a namespace: rates of DNS queries and of new connections to service and edge, and numbers of simultaneous connections. */
const LIMITS = {
  asksPerSecond: 100,
  asksAtOnce: 500,
  callsPerSecond: 50,
  callsAtOnce: 300,
  calls: 256,
  siteCallsPerSecond: 200,
  siteCallsAtOnce: 600,
  connections: 2000,
  namespaces: 8192,
}

export function rulesOf(rules: Rules): string {
  const { id, block, gateway, trial, forwarder, service, edge, guarded, callers, policy } = rules
  const table = tableOf(id)
  const { namespaces, gatewayLink } = interfacesOf(id)
  const anyNamespace = `"${namespaces}*"`
  const anyCaller = `"${interfacesOf(id).callers}*"`
  const anyService = `"${LINK_PREFIX}*"`
  const at = formatAddress(gateway)
  const open = policy.allowed.filter(({ port }) => port === undefined).map(({ range }) => range)
  const withPort = policy.allowed.filter(({ port }) => port !== undefined).map(acceptsPort)
  const atService = `ip daddr ${at} tcp dport ${service}`
  const atEdge = `ip daddr ${at} tcp dport ${edge}`
  const ifService = (rule: string) => (service === undefined ? '' : rule)
  const ifEdge = (rule: string) => (edge === undefined ? '' : rule)
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  set guarded { type ifname; ${elements(guarded.map((name) => `"${name}"`))} }
  set allowed { type ipv4_addr; flags interval; auto-merge; ${elements(open.map(formatRange))} }
  set blocked { type ipv4_addr; flags interval; auto-merge; ${elements(policy.blocked.map(formatRange))} }
  set asking { type ipv4_addr; flags dynamic, timeout; timeout 1m; size ${LIMITS.namespaces}; }
  set connected { type ipv4_addr; flags dynamic; size ${LIMITS.namespaces}; }
  set calling { type ipv4_addr; flags dynamic, timeout; timeout 1m; size ${LIMITS.namespaces}; }
  set called { type ipv4_addr; flags dynamic; size ${LIMITS.namespaces}; }
  set visiting { type ipv4_addr; flags dynamic, timeout; timeout 1m; size ${LIMITS.namespaces}; }
  set visited { type ipv4_addr; flags dynamic; size ${LIMITS.namespaces}; }

  chain prerouting {
    type nat hook prerouting priority dstnat - 10; policy accept;
    iifname ${anyNamespace} ip daddr ${at} udp dport 53 dnat ip to ${at}:${forwarder.udp}
    iifname ${anyNamespace} ip daddr ${at} tcp dport 53 dnat ip to ${at}:${forwarder.tcp}
    ${ifEdge(toEdge(rules).join('\n    '))}
  }

  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname ${anyNamespace} jump to_machine
    iifname "${gatewayLink}" drop
    ${ifService(`${atService} drop`)}
    ${ifEdge(`${atEdge} drop`)}
  }

  chain to_machine {
    meta nfproto != ipv4 drop
    fib saddr . iif oif missing drop
    ip daddr ${at} udp dport ${forwarder.udp} jump to_forwarder
    ip daddr ${at} tcp dport ${forwarder.tcp} jump to_forwarder
    ct state established accept
    ${ifService(`iifname ${anyCaller} ${atService} jump to_service`)}
    ${ifEdge(`${atEdge} jump to_site`)}
    ${toProxy(rules).join('\n    ')}
    ${withPort.join('\n    ')}
    jump refuse
  }

  chain to_service {
    add @called { ip saddr ct count over ${LIMITS.calls} } jump refuse
    update @calling { ip saddr limit rate over ${LIMITS.callsPerSecond}/second burst ${LIMITS.callsAtOnce} packets } drop
    accept
  }

  chain to_site {
    add @visited { ip saddr ct count over ${SITE_CALLS} } jump refuse
    update @visiting { ip saddr limit rate over ${LIMITS.siteCallsPerSecond}/second burst ${LIMITS.siteCallsAtOnce} packets } drop
    accept
  }

  chain to_forwarder {
    update @asking { ip saddr limit rate over ${LIMITS.asksPerSecond}/second burst ${LIMITS.asksAtOnce} packets } drop
    accept
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname ${anyNamespace} tcp flags syn tcp option maxseg size set rt mtu
    oifname ${anyNamespace} tcp flags syn tcp option maxseg size set rt mtu
    iifname ${anyNamespace} jump from_job
    oifname ${anyNamespace} jump to_job
    iifname @guarded oifname != ${anyService} drop
  }

  chain from_job {
    meta nfproto != ipv4 drop
    fib saddr . iif oif missing drop
    meta l4proto != { tcp, udp, icmp } drop
    ct state invalid drop
    ct state established accept
    ct state related meta l4proto icmp accept
    oifname "${gatewayLink}" ip daddr ${formatAddress(trial)} accept
    oifname ${anyService} jump refuse
    add @connected { ip saddr ct count over ${LIMITS.connections} } jump refuse
    ${withPort.join('\n    ')}
    ${toProxy(rules)
      .map((rule) => `ct status dnat ${rule}`)
      .join('\n    ')}
    ct status dnat jump refuse
    ip daddr @allowed accept
    ip daddr @blocked jump refuse
    accept
  }

  chain to_job {
    ct state established accept
    ct state related meta l4proto icmp accept
    iifname ${anyService} jump refuse
    drop
  }

  chain output {
    type filter hook output priority filter - 10; policy accept;
    oifname ${anyNamespace} ct state new meta skuid != { ${callers.join(', ')} } jump refuse
  }

  chain postrouting {
    type nat hook postrouting priority srcnat - 10; policy accept;
    ip saddr ${formatRange(block)} oifname != ${anyService} masquerade
  }

  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject
  }
}
`
}

/**
 * At each address of the machine, the ports of visitors lead jobs to the edge. What the operator allows by its port, and the port
 * of the service, go before.
 */
function toEdge({ id, gateway, service, edge, policy, sites }: Rules): string[] {
  const job = `iifname "${interfacesOf(id).namespaces}*"`
  const at = formatAddress(gateway)
  const others = policy.allowed.filter(({ port }) => port !== undefined && sites.ports.includes(port))
  return [
    ...others.map(({ range, port }) => `${job} ip daddr ${formatRange(range)} tcp dport ${port} accept`),
    ...(service === undefined ? [] : [`${job} ip daddr ${at} tcp dport ${service} accept`]),
    `${job} fib daddr type local tcp dport { ${sites.ports.join(', ')} } dnat ip to ${at}:${edge}`,
  ]
}

/** A proxy in front of the edge, where it is on this machine, is reached at the address and port that visitors use. */
const toProxy = ({ sites: { tlsPort }, proxyAddresses }: Rules): string[] =>
  tlsPort === undefined
    ? []
    : proxyAddresses.map(
        (address) => `meta l4proto tcp ct original ip daddr ${address} ct original proto-dst ${tlsPort} jump to_site`,
      )

/**
 * Loaded inside of a job's namespace, where the job may neither change nor see it, and gone with it. Each connection is recorded
 * before it is allowed, and refused where the set is full: a rule that cannot add to a full set does not match, so the rules
 * below it must not accept a packet that opens a connection.
 *
 * Accepted and reset connections are recorded as the peer's packets come in. Only a peer that was contacted can be in those
 * sets, so they are never larger than the first.
 */
export const recordingRules = (gateway: number): string => `table inet headland {
  set contacts { ${RECORDED} }
  set answered { ${RECORDED} }
  set reset_by { ${RECORDED} }

  chain output {
    type filter hook output priority filter; policy accept;
    oifname "lo" meta nfproto ipv6 accept
    oifname "lo" ip daddr != ${formatAddress(gateway)} accept
    ip daddr ${formatAddress(gateway)} meta l4proto { tcp, udp } th dport 53 accept
    tcp flags & (syn | ack) == syn add @contacts { ip daddr . meta l4proto . th dport } accept
    tcp flags & (syn | ack) == syn reject with tcp reset
    meta l4proto { tcp, icmp } accept
    meta l4proto udp add @contacts { ip daddr . meta l4proto . th dport } accept
    reject
  }

  chain input {
    type filter hook input priority filter; policy accept;
    iifname "lo" accept
    tcp flags & (syn | ack) == syn | ack ${PEER} @contacts add @answered { ${PEER} }
    tcp flags & rst == rst ${PEER} @contacts add @reset_by { ${PEER} }
    meta l4proto udp ${PEER} @contacts add @answered { ${PEER} }
  }
}
`

const RECORDED = `type ipv4_addr . inet_proto . inet_service; flags dynamic; size ${RECORD_LIMITS.connections};`
const PEER = 'ip saddr . meta l4proto . th sport'

/** Matches the original destination, and not the one to which another table of this machine translated it (DNAT). */
const acceptsPort = ({ range, port }: Exception): string =>
  `meta l4proto { tcp, udp } ct original ip daddr ${formatRange(range)} ct original proto-dst ${port} accept`

const elements = (list: readonly string[]): string => (list.length > 0 ? `elements = { ${list.join(', ')} };` : '')
