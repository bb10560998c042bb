/**
 * The rules of the firewall, as text for `nft -f -`, decided without doing anything. All of them stand in one table of the
 * service's own, which is replaced as a whole. They know views by the names of their interfaces, so that opening a view
 * changes no rule, and nothing is open for a moment.
 */
import { formatAddress, formatRange, type Range } from '../addresses.ts'
import { RECORD_LIMITS } from '../contacts.ts'
import { interfacesOf, LINK_PREFIX, tableOf } from '../names.ts'
import type { Exception, Policy } from '../settings.ts'

export type Rules = {
  id: string
  /** The addresses of the service's views. */
  block: Range
  gateway: number
  /** The far end of the anchor, where nobody listens: the trial calls there. */
  trial: number
  /** Where the forwarder listens at the gateway. */
  forwarder: { tcp: number; udp: number }
  /** The port at the gateway where the service listens to apps; nothing while it does not. */
  service?: number | undefined
  /** Interfaces that forward only because the service wanted it. */
  guarded: readonly string[]
  /** Users of this machine that may call apps. */
  callers: readonly number[]
  policy: Policy
}

/** Of a view: how often it may ask for names or begin to call the service, and how many connections it may have at a time. */
const LIMITS = {
  asksPerSecond: 100,
  asksAtOnce: 500,
  callsPerSecond: 50,
  callsAtOnce: 300,
  calls: 256,
  connections: 2000,
  views: 8192,
}

export function rulesOf(rules: Rules): string {
  const { id, block, gateway, trial, forwarder, service, guarded, callers, policy } = rules
  const table = tableOf(id)
  const { views, anchor } = interfacesOf(id)
  const anyView = `"${views}*"`
  const anyCaller = `"${interfacesOf(id).callers}*"`
  const anyService = `"${LINK_PREFIX}*"`
  const at = formatAddress(gateway)
  const open = policy.allowed.filter(({ port }) => port === undefined).map(({ range }) => range)
  const withPort = policy.allowed.filter(({ port }) => port !== undefined).map(acceptsPort)
  const atService = `ip daddr ${at} tcp dport ${service}`
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  set guarded { type ifname; ${elements(guarded.map((name) => `"${name}"`))} }
  set allowed { type ipv4_addr; flags interval; auto-merge; ${elements(open.map(formatRange))} }
  set blocked { type ipv4_addr; flags interval; auto-merge; ${elements(policy.blocked.map(formatRange))} }
  set asking { type ipv4_addr; flags dynamic, timeout; timeout 1m; size ${LIMITS.views}; }
  set connected { type ipv4_addr; flags dynamic; size ${LIMITS.views}; }
  set calling { type ipv4_addr; flags dynamic, timeout; timeout 1m; size ${LIMITS.views}; }
  set called { type ipv4_addr; flags dynamic; size ${LIMITS.views}; }

  chain prerouting {
    type nat hook prerouting priority dstnat - 10; policy accept;
    iifname ${anyView} ip daddr ${at} udp dport 53 dnat ip to ${at}:${forwarder.udp}
    iifname ${anyView} ip daddr ${at} tcp dport 53 dnat ip to ${at}:${forwarder.tcp}
  }

  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname ${anyView} jump to_machine
    iifname "${anchor}" drop
    ${service === undefined ? '' : `${atService} drop`}
  }

  chain to_machine {
    meta nfproto != ipv4 drop
    fib saddr . iif oif missing drop
    ip daddr ${at} udp dport ${forwarder.udp} jump to_forwarder
    ip daddr ${at} tcp dport ${forwarder.tcp} jump to_forwarder
    ct state established accept
    ${service === undefined ? '' : `iifname ${anyCaller} ${atService} jump to_service`}
    ${withPort.join('\n    ')}
    jump refuse
  }

  chain to_service {
    add @called { ip saddr ct count over ${LIMITS.calls} } jump refuse
    update @calling { ip saddr limit rate over ${LIMITS.callsPerSecond}/second burst ${LIMITS.callsAtOnce} packets } drop
    accept
  }

  chain to_forwarder {
    update @asking { ip saddr limit rate over ${LIMITS.asksPerSecond}/second burst ${LIMITS.asksAtOnce} packets } drop
    accept
  }

  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname ${anyView} tcp flags syn tcp option maxseg size set rt mtu
    oifname ${anyView} tcp flags syn tcp option maxseg size set rt mtu
    iifname ${anyView} jump from_view
    oifname ${anyView} jump to_view
    iifname @guarded oifname != ${anyService} drop
  }

  chain from_view {
    meta nfproto != ipv4 drop
    fib saddr . iif oif missing drop
    meta l4proto != { tcp, udp, icmp } drop
    ct state invalid drop
    ct state established accept
    ct state related meta l4proto icmp accept
    oifname "${anchor}" ip daddr ${formatAddress(trial)} accept
    oifname ${anyService} jump refuse
    add @connected { ip saddr ct count over ${LIMITS.connections} } jump refuse
    ${withPort.join('\n    ')}
    ct status dnat jump refuse
    ip daddr @allowed accept
    ip daddr @blocked jump refuse
    accept
  }

  chain to_view {
    ct state established accept
    ct state related meta l4proto icmp accept
    iifname ${anyService} jump refuse
    drop
  }

  chain output {
    type filter hook output priority filter - 10; policy accept;
    oifname ${anyView} ct state new meta skuid != { ${callers.join(', ')} } jump refuse
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
 * Stands inside of a view, where no job may change or see it, and is gone with it. Each connection is written down first, and
 * what does not fit is refused: a rule that cannot add to a full set is left, and the rules below it must not accept what opens a connection.
 *
 * Who accepted a connection, and who reset one, is written down as the packets come in. Only a peer that was called can be
 * in those sets, so they are never fuller than the first.
 */
export const recordingRules = (gateway: number): string => `table inet headland {
  set contacts { ${RECORDED} }
  set answered { ${RECORDED} }
  set reset_by { ${RECORDED} }

  chain output {
    type filter hook output priority filter; policy accept;
    oifname "lo" accept
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

/** By what was called, and not by where another table of this machine has turned it: a container's port, say. */
const acceptsPort = ({ range, port }: Exception): string =>
  `meta l4proto { tcp, udp } ct original ip daddr ${formatRange(range)} ct original proto-dst ${port} accept`

const elements = (list: readonly string[]): string => (list.length > 0 ? `elements = { ${list.join(', ')} };` : '')
