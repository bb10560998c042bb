/**
 * How the service calls an app: from the app's own loopback. Frameworks believe what a proxy on the same machine says about
 * a visitor (`trust proxy: 'loopback'`, and some by default), and the edge is that proxy. The kernel of the view turns both
 * addresses of a connection from the gateway into 127.0.0.1, so an app that listens on 127.0.0.1 alone is reached as well.
 *
 * It is done for the one port at which the app is called. Only root of the machine opens such a connection: everything
 * else is stopped outside. A caller keeps its own port, by which both ends know a connection that has just ended.
 */
import { formatAddress } from './addresses.ts'

/** Connections of an app to its own port, at a time. */
export const OWN_CALLS = 2000

/**
 * For `nft -f -` inside of a view, where no job may change or see them. The kernel keeps track of the service's calls, and of
 * the app's calls to its own port, which must not be taken for them. Nothing else is tracked, and those have a bound, so
 * that no job fills the table of connections that the kernel has for all.
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

/** Settings of the view's kernel, under `/proc/sys/net`. */
const SETTINGS: Readonly<Record<string, string>> = {
  // What is called 127.0.0.1 may come and go by the cable. The rules above let nothing leave under that name.
  'ipv4/conf/eth0/route_localnet': '1',
  // A connection is known from its first packet on, or it is not one of these.
  'netfilter/nf_conntrack_tcp_loose': '0',
  // A packet that looks late is translated like every other, and left to the app.
  'netfilter/nf_conntrack_tcp_be_liberal': '1',
  // One that has ended is forgotten soon: apps that close after each answer have thousands of them.
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

/** The command that does all of it, with the rules for its input: /proc/sys shows the network of who looks. */
export const loopbackCommand = (): string[] => ['/bin/sh', '-c', SET_UP, 'sh', ...Object.entries(SETTINGS).flat()]
