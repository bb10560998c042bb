/**
 * The same refusals as a profile for Docker, for apps that a swarm runs. It stands in the specification of every service, so it
 * is short: of what `arguments.ts` refuses it leaves out what no kernel has. A call that is newer than the table is allowed,
 * since the library that Docker uses compares no numbers of calls.
 */
import {
  ATTRIBUTES,
  DEVICES,
  FAMILY,
  FILE_TYPE_BITS,
  NAMESPACES,
  NETLINK_ROUTE,
  PERSONALITIES,
  PROTOCOL,
  TCP_ULP,
  TERMINAL,
  TYPE,
} from './arguments.ts'
import { ERRNO, type Errno } from './bpf.ts'
import type { SystemCallName } from './numbers.ts'
import { REFUSED } from './refused.ts'

/** Of one argument. A masked comparison ignores the upper half, as the kernel does; the others refuse what has one. */
export type Condition = { index: number; op: string; value: number; valueTwo?: number }

export type Rule = {
  names: readonly SystemCallName[]
  action: 'SCMP_ACT_ERRNO'
  errnoRet: number
  /** Conditions of one argument are alternatives; those of several arguments must all be true. */
  args?: readonly Condition[]
}

export type DockerProfile = { defaultAction: string; archMap: readonly object[]; syscalls: readonly Rule[] }

const WORD = 0xffff_ffff
const TYPE_BITS = 0xf

/** Some bits of a number: one comparison for several numbers keeps the profile short. */
type Bits = { value: number; mask: number }

/** The two families of the internet differ in one bit. */
const INTERNET: Bits = { value: FAMILY.inet & FAMILY.inet6, mask: WORD - (FAMILY.inet ^ FAMILY.inet6) }
/** Families below the last allowed one that are not allowed: 0; 3 and 11; 4 to 7 and 12 to 15; 8 and 9. */
const OTHER_FAMILIES: readonly Bits[] = [
  { value: 0, mask: WORD },
  { value: 3, mask: WORD - 8 },
  { value: 4, mask: WORD - 11 },
  { value: 8, mask: WORD - 1 },
]
/** SOCK_RAW; SOCK_RDM, SOCK_SEQPACKET and SOCK_DCCP; SOCK_PACKET. All others are unknown to the kernel. */
const OTHER_TYPES: readonly Bits[] = [
  { value: 3, mask: TYPE_BITS },
  { value: 4, mask: 12 },
  { value: 8, mask: 8 },
]

const is = (index: number, value: number, mask = WORD): Condition => ({
  index,
  op: 'SCMP_CMP_MASKED_EQ',
  value: mask,
  valueTwo: value,
})
const isMore = (index: number, value: number): Condition => ({ index, op: 'SCMP_CMP_GT', value })
const isNot = (index: number, value: number): Condition => ({ index, op: 'SCMP_CMP_NE', value })

const refuse = (names: readonly SystemCallName[], answer: Errno, args?: readonly Condition[]): Rule => ({
  names,
  action: 'SCMP_ACT_ERRNO',
  errnoRet: ERRNO[answer],
  ...(args ? { args } : {}),
})

export function dockerSeccomp(): DockerProfile {
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    // Without the 32-bit calls of the same processor: those end the process.
    archMap: [
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
    ],
    syscalls: [
      ...byAnswer(),
      refuse(
        ['ioctl'],
        'EPERM',
        Object.values(TERMINAL).map((value) => is(1, value)),
      ),
      refuse(
        ['ioctl'],
        'ENOTTY',
        Object.values(ATTRIBUTES).map((value) => is(1, value)),
      ),
      refuse(['setsockopt'], 'ENOENT', [is(1, PROTOCOL.tcp), is(2, TCP_ULP)]),
      refuse(
        ['clone'],
        'EPERM',
        bitsOf(NAMESPACES).map((bit) => is(0, bit, bit)),
      ),
      ...sockets(),
      refuse(['socketpair'], 'EAFNOSUPPORT', [isNot(0, FAMILY.unix)]),
      // The query of the current one is refused too: it has every bit that must not be set.
      refuse(['personality'], 'EPERM', [isMore(0, Math.max(...PERSONALITIES.filter((value) => value !== WORD)))]),
      refuse(['mknod'], 'EPERM', devices(1)),
      refuse(['mknodat'], 'EPERM', devices(2)),
    ],
  }
}

/** One rule for all calls with the same answer. */
function byAnswer(): Rule[] {
  const answers = [...new Set(REFUSED.map(({ answer }) => answer))]
  return answers.map((answer) =>
    refuse(
      REFUSED.filter((group) => group.answer === answer).flatMap(({ calls }) => calls),
      answer,
    ),
  )
}

function sockets(): Rule[] {
  const has = (index: number, { value, mask }: Bits) => is(index, value, mask)
  const last = Math.max(...Object.values(FAMILY))
  return [
    refuse(['socket'], 'EAFNOSUPPORT', [...OTHER_FAMILIES.map((family) => has(0, family)), isMore(0, last)]),
    refuse(['socket'], 'EPROTONOSUPPORT', [is(0, FAMILY.netlink), isMore(2, NETLINK_ROUTE)]),
    ...OTHER_TYPES.map((type) => refuse(['socket'], 'EPERM', [has(0, INTERNET), has(1, type)])),
    // Those between are no protocols of these types.
    ...[
      { type: TYPE.stream, protocol: PROTOCOL.tcp },
      { type: TYPE.datagram, protocol: PROTOCOL.icmp6 },
    ].map(({ type, protocol }) =>
      refuse(['socket'], 'EPROTONOSUPPORT', [has(0, INTERNET), is(1, type, TYPE_BITS), isMore(2, protocol)]),
    ),
  ]
}

const devices = (index: number): Condition[] => DEVICES.map((kind) => is(index, kind, FILE_TYPE_BITS))

const bitsOf = (mask: number): number[] =>
  Array.from({ length: 32 }, (_, at) => 2 ** at).filter((bit) => (mask & bit) !== 0)
