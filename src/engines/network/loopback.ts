/**
 * The loopback of a job, and what beside the job's own programs is behind it.
 *
 * The service calls an app from the app's own loopback. Frameworks trust what a proxy on the same machine says about a visitor
 * (`trust proxy: 'loopback'`, and some by default), and the edge is that proxy. In the job's namespace, NAT turns both addresses
 * of a connection from the gateway into 127.0.0.1, so an app that listens on 127.0.0.1 alone is reached as well. It is done for
 * the one port at which the app is called. Only allowed users of the machine open such a connection: the machine's rules refuse
 * all others. The source port is kept, by which both ends recognize a connection that has just ended.
 *
 * A job calls the edge at its own 127.0.0.1, where sites have names that end with `localhost`: many programs resolve those to
 * 127.0.0.1 without asking DNS. NAT turns such a connection into one to the gateway, where the machine's rules let it pass.
 */
import { formatAddress } from './addresses.ts'

/** Simultaneous connections of an app to its own port. */
export const OWN_CALLS = 2000

/** Simultaneous connections of a job to the edge. */
export const SITE_CALLS = 512

export type Loopback = {
  gateway: number
  /** Of the job. */
  address: number
  /** The port at which the service calls it, if it is an app. */
  port: number | undefined
  /** The ports at which 127.0.0.1 leads to the edge. */
  sitePorts: readonly number[]
}

/**
 * For `nft -f -` inside of a job's namespace, where the job may neither change nor see them. The kernel tracks the service's
 * connections, the app's connections to its own port, which must not be taken for them, and those to the edge. Nothing else is
 * tracked, and the latter two are limited, so that no job fills the kernel's connection table, which all share.
 */
export const loopbackRules = ({ gateway, address, port, sitePorts }: Loopback): string => {
  const at = formatAddress(gateway)
  const inside = 'ip saddr 127.0.0.1 ip daddr 127.0.0.1'
  const called = `iifname "eth0" ip saddr ${at} tcp dport ${port}`
  const sites = `{ ${sitePorts.join(', ')} }`
  const ifApp = (rule: string) => (port === undefined ? '' : rule)
  const ifSites = (rule: string) => (sitePorts.length === 0 ? '' : rule)
  return `table ip headland {
  chain arriving {
    type filter hook prerouting priority raw; policy accept;
    ${ifApp(`${called} accept`)}
    ${ifApp(`iifname "lo" ${inside} tcp dport ${port} accept`)}
    ${ifApp(`iifname "lo" ${inside} tcp sport ${port} accept`)}
    ${ifSites(`iifname "eth0" ip saddr ${at} tcp sport ${sites} accept`)}
    notrack
  }

  chain sent {
    type filter hook output priority raw; policy accept;
    ${ifApp(`${inside} tcp sport ${port} accept`)}
    ${ifApp(`${inside} tcp dport ${port} accept`)}
    ${ifSites(`${inside} tcp dport ${sites} accept`)}
    notrack
  }

  chain own_calls {
    type filter hook output priority filter; policy accept;
    ${ifApp(`oifname "lo" tcp dport ${port} ct state new ct count over ${OWN_CALLS} reject with tcp reset`)}
    ${ifSites(`ip daddr ${at} tcp dport ${sites} ct state new ct count over ${SITE_CALLS} reject with tcp reset`)}
  }

  chain to_loopback {
    type nat hook prerouting priority dstnat; policy accept;
    ${ifApp(`${called} dnat to 127.0.0.1`)}
  }

  chain from_loopback {
    type nat hook input priority 100; policy accept;
    ${ifApp(`${called} ip daddr 127.0.0.1 snat to 127.0.0.1`)}
  }

  chain to_edge {
    type nat hook output priority -100; policy accept;
    ${ifSites(`${inside} tcp dport ${sites} dnat to ${at}`)}
  }

  chain from_job {
    type nat hook postrouting priority srcnat; policy accept;
    ${ifSites(`oifname "eth0" ip saddr 127.0.0.1 ip daddr ${at} tcp dport ${sites} snat to ${formatAddress(address)}`)}
  }

  chain leaving {
    type filter hook postrouting priority 300; policy accept;
    oifname "eth0" ip saddr 127.0.0.0/8 drop
    oifname "eth0" ip daddr 127.0.0.0/8 drop
  }
}
`
}

/** Kernel settings of the namespace, under `/proc/sys/net`. */
const SETTINGS: Readonly<Record<string, string>> = {
  // Packets to 127.0.0.1 may arrive by eth0. The rules above let no packet with such an address leave.
  'ipv4/conf/eth0/route_localnet': '1',
  // A connection is tracked from its first packet on, or not at all.
  'netfilter/nf_conntrack_tcp_loose': '0',
  // A packet outside of the TCP window is translated like every other, and left to the app's TCP.
  'netfilter/nf_conntrack_tcp_be_liberal': '1',
  // Ended connections are forgotten soon: apps that close the connection after each response have thousands of them.
  'netfilter/nf_conntrack_tcp_timeout_time_wait': '1',
  'netfilter/nf_conntrack_tcp_timeout_close': '1',
}

const SET_UP = `
while [ $# -gt 0 ]; do
  printf %s "$2" > "/proc/sys/net/$1" || exit
  shift 2
done
exec nft -f -
`

/** Writes the settings and loads the rules from stdin. To be run inside: /proc/sys/net shows the reader's own namespace. */
export const loopbackCommand = (): string[] => ['/bin/sh', '-c', SET_UP, 'sh', ...Object.entries(SETTINGS).flat()]
