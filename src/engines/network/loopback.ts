/**
 * How the service calls an app: from the app's own loopback. Frameworks trust what a proxy on the same machine says about a
 * visitor (`trust proxy: 'loopback'`, and some by default), and the edge is that proxy. In the job's namespace, NAT turns both
 * addresses of a connection from the gateway into 127.0.0.1, so an app that listens on 127.0.0.1 alone is reached as well.
 *
 * It is done for the one port at which the app is called. Only allowed users of the machine open such a connection: the
 * machine's rules refuse all others. The source port is kept, by which both ends recognize a connection that has just ended.
 */
import { formatAddress } from './addresses.ts'

/** Simultaneous connections of an app to its own port. */
export const OWN_CALLS = 2000

/**
 * For `nft -f -` inside of a job's namespace, where the job may neither change nor see them. The kernel tracks the service's
 * connections, and the app's connections to its own port, which must not be taken for them. Nothing else is tracked, and the
 * latter are limited, so that no job fills the kernel's connection table, which all share.
 */
export const loopbackRules = (gateway: number, port: number): string => {
  const called = `iifname "eth0" ip saddr ${formatAddress(gateway)} tcp dport ${port}`
  const inside = 'ip saddr 127.0.0.1 ip daddr 127.0.0.1'
  return `table ip headland {
  chain arriving {
    type filter hook prerouting priority raw; policy accept;
    ${called} accept
    iifname "lo" ${inside} tcp dport ${port} accept
    iifname "lo" ${inside} tcp sport ${port} accept
    notrack
  }

  chain sent {
    type filter hook output priority raw; policy accept;
    ${inside} tcp sport ${port} accept
    ${inside} tcp dport ${port} accept
    notrack
  }

  chain own_calls {
    type filter hook output priority filter; policy accept;
    oifname "lo" tcp dport ${port} ct state new ct count over ${OWN_CALLS} reject with tcp reset
  }

  chain to_loopback {
    type nat hook prerouting priority dstnat; policy accept;
    ${called} dnat to 127.0.0.1
  }

  chain from_loopback {
    type nat hook input priority 100; policy accept;
    ${called} ip daddr 127.0.0.1 snat to 127.0.0.1
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
