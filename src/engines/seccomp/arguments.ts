/** Calls that ordinary programs make, and that are refused for some of their arguments. */
import { ALLOW, and, argument, type Instruction, ifAnyBit, ifOneOf, refuse } from './bpf.ts'
import type { SystemCallName } from './numbers.ts'

/** `check` ends in a verdict, whichever way it goes. */
export type Checked = { call: SystemCallName; check: readonly Instruction[] }

/** CLONE_NEW: NS, CGROUP, UTS, IPC, USER, PID, NET. CLONE_NEWTIME cannot be given to clone. */
export const NAMESPACES =
  0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000

export const FAMILY = { unix: 1, inet: 2, inet6: 10, netlink: 16 }
export const TYPE = { stream: 1, datagram: 2 }
const TYPE_BITS = 0xf
export const PROTOCOL = { default: 0, icmp: 1, tcp: 6, udp: 17, icmp6: 58 }
export const NETLINK_ROUTE = 0

/** An upper layer protocol of TCP: kernel TLS and others, loaded on demand. */
export const TCP_ULP = 31

export const TERMINAL = {
  /** Puts characters into what another program reads from its terminal. */
  TIOCSTI: 0x5412,
  /** The same on a console, by selecting and pasting. */
  TIOCLINUX: 0x541c,
  TIOCCONS: 0x541d,
  /** Sets another line discipline: drivers for modems and the like, loaded on demand. */
  TIOCSETD: 0x5423,
}

/** Attributes of a file that its owner may change: one of them is the project whose quota it counts for. */
export const ATTRIBUTES = { FS_IOC_SETFLAGS: 0x40086602, FS_IOC32_SETFLAGS: 0x40046602, FS_IOC_FSSETXATTR: 0x401c5820 }

/** Linux, also with an old version number or as 32 bits, and the query of the current one. Not: without ASLR. */
export const PERSONALITIES = [0x0000_0000, 0x0000_0008, 0x0002_0000, 0x0002_0008, 0xffff_ffff]

export const FILE_TYPE_BITS = 0xf000
export const DEVICES = [0x2000, 0x6000]

/** The kernel loads other protocols on demand, and several of them had vulnerabilities. */
const internet = [
  argument(1),
  and(TYPE_BITS),
  ...ifOneOf([TYPE.stream], protocols([PROTOCOL.default, PROTOCOL.tcp])),
  ...ifOneOf([TYPE.datagram], protocols([PROTOCOL.default, PROTOCOL.udp, PROTOCOL.icmp, PROTOCOL.icmp6])),
  // Raw sockets need a capability, and the obsolete SOCK_PACKET receives all packets, whatever the family.
  refuse('EPERM'),
]

export const CHECKED: readonly Checked[] = [
  {
    call: 'ioctl',
    check: [
      argument(1),
      ...ifOneOf(Object.values(TERMINAL), [refuse('EPERM')]),
      // As on a file system without attributes.
      ...ifOneOf(Object.values(ATTRIBUTES), [refuse('ENOTTY')]),
      ALLOW,
    ],
  },
  {
    call: 'setsockopt',
    check: [
      argument(1),
      // As where the kernel module is missing: the program then encrypts by itself.
      ...ifOneOf([PROTOCOL.tcp], [argument(2), ...ifOneOf([TCP_ULP], [refuse('ENOENT')]), ALLOW]),
      ALLOW,
    ],
  },
  { call: 'clone', check: [argument(0), ...ifAnyBit(NAMESPACES, [refuse('EPERM')]), ALLOW] },
  {
    call: 'socket',
    check: [
      argument(0),
      ...ifOneOf([FAMILY.unix], [ALLOW]),
      ...ifOneOf([FAMILY.inet, FAMILY.inet6], internet),
      // The list of network interfaces. Firewalls, audit and the rest of netlink are for root.
      ...ifOneOf([FAMILY.netlink], protocols([NETLINK_ROUTE])),
      refuse('EAFNOSUPPORT'),
    ],
  },
  { call: 'socketpair', check: [argument(0), ...ifOneOf([FAMILY.unix], [ALLOW]), refuse('EAFNOSUPPORT')] },
  { call: 'personality', check: [argument(0), ...ifOneOf(PERSONALITIES, [ALLOW]), refuse('EPERM')] },
  { call: 'mknod', check: noDevice(1) },
  { call: 'mknodat', check: noDevice(2) },
]

function protocols(allowed: readonly number[]): Instruction[] {
  return [argument(2), ...ifOneOf(allowed, [ALLOW]), refuse('EPROTONOSUPPORT')]
}

/** Named pipes are allowed. */
function noDevice(mode: number): Instruction[] {
  return [argument(mode), and(FILE_TYPE_BITS), ...ifOneOf(DEVICES, [refuse('EPERM')]), ALLOW]
}
