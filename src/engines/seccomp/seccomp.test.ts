/** Both architectures, whatever this machine is: the programs are run by a simulator. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { CHECKED } from './arguments.ts'
import { seccompProgram } from './index.ts'
import { type Architecture, IDENTITIES, NEWEST, NUMBERS, type SystemCallName } from './numbers.ts'
import { REFUSED } from './refused.ts'
import { disassemble, run } from './simulate.ts'

const ARCHITECTURES: Architecture[] = ['x64', 'arm64']
const I386 = 0x40000003
const ARM = 0x40000028
const X32_BIT = 0x40000000

const programs = { x64: made('x64'), arm64: made('arm64') }

function made(arch: Architecture): Buffer {
  const program = seccompProgram(arch)
  assert.ok(program)
  return program
}

const numberOf = (call: SystemCallName, arch: Architecture): number | null => NUMBERS[call][arch === 'x64' ? 0 : 1]

const runNumber = (arch: Architecture, nr: number, args: readonly (number | bigint)[] = []) =>
  run(programs[arch], { arch: IDENTITIES[arch], nr, args })

/** The verdict of both architectures, which has to be the same. */
function verdict(call: SystemCallName, ...args: (number | bigint)[]): string {
  const verdicts = ARCHITECTURES.flatMap((arch) => {
    const nr = numberOf(call, arch)
    return nr === null ? [] : [runNumber(arch, nr, args)]
  })
  assert.equal(new Set(verdicts).size, 1, `${call}: ${verdicts}`)
  return verdicts[0] ?? ''
}

/** All bits clear, all bits set, and an odd pattern. */
const ODD = [
  [0, 0, 0, 0, 0, 0],
  [1, 1, 1, 1, 1, 1],
  [0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff],
  [-1, -1, -1, -1, -1, -1],
]

test('there is a program for x64 and arm64, and for no other architecture', () => {
  assert.equal(seccompProgram('riscv64'), undefined)
  assert.deepEqual(seccompProgram(), programs[process.arch as Architecture])
})

for (const arch of ARCHITECTURES) {
  test(`the kernel would take the program for ${arch}`, () => {
    const lines = disassemble(programs[arch])
    assert.ok(lines.length < 4096)
    assert.match(lines.at(-1) ?? '', /return allow$/)
    for (const [at, line] of lines.entries()) {
      for (const target of line.match(/\? (\d+) : (\d+)/)?.slice(1) ?? []) {
        assert.ok(Number(target) > at && Number(target) < lines.length, line)
      }
      const offset = line.match(/load (\d+)/)?.[1] ?? '0'
      assert.ok(Number(offset) % 4 === 0 && Number(offset) < 64, line)
    }
  })

  test(`every call of ${arch} that is on no list is allowed, whatever its arguments`, () => {
    const listed = new Set(Object.keys(NUMBERS).map((call) => numberOf(call as SystemCallName, arch)))
    for (let nr = 0; nr <= NEWEST; nr++) {
      if (!listed.has(nr)) for (const args of ODD) assert.equal(runNumber(arch, nr, args), 'allow', `call ${nr}`)
    }
  })

  test(`every refused call of ${arch} answers as its group says, whatever its arguments`, () => {
    for (const { calls, answer } of REFUSED) {
      for (const call of calls) {
        const nr = numberOf(call, arch)
        if (nr !== null) for (const args of ODD) assert.equal(runNumber(arch, nr, args), answer, call)
      }
    }
  })

  test(`a call of ${arch} that is younger than the table is not there`, () => {
    for (const nr of [NEWEST + 1, 511, 512, 547, 1000, 0x3fffffff, 0x7fffffff, 0xffffffff]) {
      assert.equal(runNumber(arch, nr), 'ENOSYS', `call ${nr}`)
    }
  })

  test(`the upper half of an argument does not get a call of ${arch} past its check`, () => {
    const upper = 0xdead_beefn << 32n
    for (const { call } of CHECKED) {
      const nr = numberOf(call, arch)
      if (nr === null) continue
      for (const low of [0x5412n, 38n, 0x1000_0000n, 0x2000n, 0x6000n, 16n, 6n]) {
        const verdictFor = (value: bigint): string => runNumber(arch, nr, [value, value, value])
        assert.equal(verdictFor(upper | low), verdictFor(low), `${call} ${low}`)
      }
    }
  })
}

test('a program of another architecture is killed', () => {
  assert.equal(run(programs.x64, { arch: I386, nr: 1 }), 'kill')
  assert.equal(run(programs.arm64, { arch: ARM, nr: 1 }), 'kill')
  assert.equal(run(programs.x64, { arch: IDENTITIES.arm64, nr: 1 }), 'kill')
  assert.equal(run(programs.arm64, { arch: IDENTITIES.x64, nr: 1 }), 'kill')
})

test('no call of x32 exists', () => {
  for (let nr = 0; nr <= 600; nr++) assert.equal(runNumber('x64', nr | X32_BIT), 'ENOSYS')
})

const HEADERS: Record<Architecture, readonly string[]> = {
  x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/x86_64-linux-gnu/include/asm/unistd_64.h'],
  arm64: ['/usr/include/aarch64-linux-gnu/asm/unistd_64.h', '/usr/include/asm-generic/unistd.h'],
}

/** A second list, written by hand as [x64, arm64]: what Node, Go, Rust and shells need. */
const EVERYDAY: Record<string, [number, number]> = {
  read: [0, 63],
  write: [1, 64],
  mmap: [9, 222],
  mprotect: [10, 226],
  execve: [59, 221],
  wait4: [61, 260],
  futex: [202, 98],
  epoll_pwait: [281, 22],
  eventfd2: [290, 19],
  openat: [257, 56],
  openat2: [437, 437],
  statx: [332, 291],
  getrandom: [318, 278],
  memfd_create: [319, 279],
  copy_file_range: [326, 285],
  splice: [275, 76],
  inotify_init1: [294, 26],
  prlimit64: [302, 261],
  sched_getaffinity: [204, 123],
  set_robust_list: [273, 99],
  rseq: [334, 293],
  membarrier: [324, 283],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  close_range: [436, 436],
  faccessat2: [439, 439],
  fchmodat2: [452, 452],
  seccomp: [317, 277],
  landlock_create_ruleset: [444, 444],
  setuid: [105, 146],
  setgid: [106, 144],
  setgroups: [116, 159],
  prctl: [157, 167],
  connect: [42, 203],
  accept4: [288, 242],
  sendmmsg: [307, 269],
}

test('what every program needs is allowed', () => {
  for (const [call, [x64, arm64]] of Object.entries(EVERYDAY)) {
    assert.deepEqual([runNumber('x64', x64), runNumber('arm64', arm64)], ['allow', 'allow'], call)
  }
})

test('no call stands on the list twice, and each has a place', () => {
  const listed = [...REFUSED.flatMap(({ calls }) => calls), ...CHECKED.map(({ call }) => call)]
  assert.deepEqual(listed.toSorted(), Object.keys(NUMBERS).toSorted())
  for (const index of [0, 1]) {
    const numbers = Object.values(NUMBERS).flatMap((pair) => pair[index] ?? [])
    assert.equal(new Set(numbers).size, numbers.length)
  }
})

test('from 424 on both architectures have the same numbers, and below each has its own', () => {
  for (const [call, [x64, arm64]] of Object.entries(NUMBERS)) assert.equal(x64 >= 424, x64 === arm64, call)
})

/** The kernel's own numbers, by name: a dash where an architecture has none. */
const KERNELS = new Map(
  readFileSync(new URL('../../../test/fixtures/system-calls.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): [string, Record<Architecture, string>] => {
      const [name = '', x64 = '', arm64 = ''] = line.split(' ')
      return [name, { x64, arm64 }]
    }),
)

for (const arch of ARCHITECTURES) {
  test(`the numbers of ${arch} are those of the kernel's own table`, () => {
    for (const call of Object.keys(NUMBERS)) {
      assert.equal(KERNELS.get(call)?.[arch] ?? '-', numberOf(call as SystemCallName, arch)?.toString() ?? '-', call)
    }
    for (const [call, [x64, arm64]] of Object.entries(EVERYDAY)) {
      assert.equal(KERNELS.get(call)?.[arch], String({ x64, arm64 }[arch]), call)
    }
  })

  // Where the headers are installed: linux-libc-dev, or linux-libc-dev-amd64-cross on another machine.
  for (const header of HEADERS[arch].filter((path) => existsSync(path))) {
    test(`the table of ${arch} says what ${header} says`, () => {
      const defined = [...readFileSync(header, 'utf8').matchAll(/#define __NR_(\w+)\s+(\d+)/g)]
      assert.ok(defined.length > 200)
      for (const [, name = '', number] of defined) {
        // Names of the family that all architectures share, of which this one may have another form.
        if (KERNELS.has(name)) assert.equal(KERNELS.get(name)?.[arch], number, name)
      }
    })
  }
}

test('clone makes processes and threads, and no namespace', () => {
  const [fork, vfork, thread] = [0x11, 0x4111, 0x003d0f00]
  for (const flags of [fork, vfork, thread]) assert.equal(verdict('clone', flags), 'allow')
  const namespaces = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
  for (const flags of namespaces) {
    for (const others of [0, fork, thread]) assert.equal(verdict('clone', flags | others), 'EPERM', flags.toString(16))
  }
})

const [STREAM, DATAGRAM, RAW, SEQPACKET, PACKET] = [1, 2, 3, 5, 10]
const FLAGS = 0x80000 | 0x800

const SOCKETS: { what: string; args: [number, number, number]; verdict: string }[] = [
  { what: 'a local stream', args: [1, STREAM, 0], verdict: 'allow' },
  { what: 'local packets', args: [1, SEQPACKET, 0], verdict: 'allow' },
  { what: 'TCP', args: [2, STREAM, 0], verdict: 'allow' },
  { what: 'TCP by its number, not blocking', args: [2, STREAM | FLAGS, 6], verdict: 'allow' },
  { what: 'TCP over IPv6', args: [10, STREAM, 6], verdict: 'allow' },
  { what: 'UDP', args: [2, DATAGRAM | FLAGS, 17], verdict: 'allow' },
  { what: 'UDP over IPv6', args: [10, DATAGRAM, 0], verdict: 'allow' },
  { what: 'a ping', args: [2, DATAGRAM, 1], verdict: 'allow' },
  { what: 'a ping over IPv6', args: [10, DATAGRAM, 58], verdict: 'allow' },
  { what: 'the list of interfaces', args: [16, RAW | FLAGS, 0], verdict: 'allow' },
  { what: 'raw packets', args: [2, RAW, 1], verdict: 'EPERM' },
  { what: 'all packets by an old name', args: [2, PACKET, 0], verdict: 'EPERM' },
  { what: 'SCTP', args: [2, STREAM, 132], verdict: 'EPROTONOSUPPORT' },
  { what: 'SCTP by its type', args: [2, SEQPACKET, 132], verdict: 'EPERM' },
  { what: 'MPTCP, which Go servers ask for first', args: [2, STREAM, 262], verdict: 'EPROTONOSUPPORT' },
  { what: 'SMC', args: [2, STREAM, 256], verdict: 'EPROTONOSUPPORT' },
  { what: 'UDP-Lite', args: [2, DATAGRAM, 136], verdict: 'EPROTONOSUPPORT' },
  { what: 'L2TP', args: [2, DATAGRAM, 115], verdict: 'EPROTONOSUPPORT' },
  { what: 'the firewall', args: [16, RAW, 12], verdict: 'EPROTONOSUPPORT' },
  { what: 'the audit log', args: [16, RAW, 9], verdict: 'EPROTONOSUPPORT' },
  { what: 'events of devices', args: [16, DATAGRAM, 15], verdict: 'EPROTONOSUPPORT' },
]

for (const { what, args, verdict: expected } of SOCKETS) {
  test(`a socket for ${what}: ${expected}`, () => assert.equal(verdict('socket', ...args), expected))
}

test('a socket of any other family is refused', () => {
  for (let family = 0; family < 100; family++) {
    if (![1, 2, 10, 16].includes(family)) assert.equal(verdict('socket', family, STREAM, 0), 'EAFNOSUPPORT')
  }
})

test('a pair of sockets is a local one', () => {
  assert.equal(verdict('socketpair', 1, STREAM, 0), 'allow')
  for (const family of [0, 2, 10, 16, 30, 38]) assert.equal(verdict('socketpair', family, STREAM, 0), 'EAFNOSUPPORT')
})

test('nothing is laid over a TCP connection, and every other option can be set', () => {
  assert.equal(verdict('setsockopt', 3, 6, 31), 'ENOENT')
  const [noDelay, reuse, sameNumberElsewhere] = [[6, 1] as const, [1, 2] as const, [1, 31] as const]
  for (const option of [noDelay, reuse, sameNumberElsewhere]) assert.equal(verdict('setsockopt', 3, ...option), 'allow')
})

test('a terminal can be looked at, and nothing can be typed into it', () => {
  const [size, attributes, bytesWaiting, ptyNumber] = [0x5413, 0x5401, 0x541b, 0x80045430]
  for (const command of [size, attributes, bytesWaiting, ptyNumber]) assert.equal(verdict('ioctl', 0, command), 'allow')
  for (const command of [0x5412, 0x541c, 0x541d, 0x5423]) assert.equal(verdict('ioctl', 0, command), 'EPERM')
})

test('a file can be cloned, and whose quota it counts for cannot be changed', () => {
  const [clone, getFlags, getAttributes] = [0x40049409, 0x80086601, 0x801c581f]
  for (const command of [clone, getFlags, getAttributes]) assert.equal(verdict('ioctl', 3, command), 'allow')
  for (const command of [0x40086602, 0x40046602, 0x401c5820]) assert.equal(verdict('ioctl', 3, command), 'ENOTTY')
})

test('a program may ask for its personality, and not switch the randomising of addresses off', () => {
  for (const value of [0xffffffff, -1, 0, 8, 0x20000, 0x20008]) assert.equal(verdict('personality', value), 'allow')
  for (const value of [0x40000, 0x400000, 0x100000, 6]) assert.equal(verdict('personality', value), 'EPERM')
})

test('pipes and files can be made by name, devices cannot', () => {
  for (const type of [0, 0x1000, 0x8000, 0xc000]) {
    assert.deepEqual([verdict('mknod', 0, type | 0o666), verdict('mknodat', -100, 0, type | 0o666)], ['allow', 'allow'])
  }
  for (const type of [0x2000, 0x6000]) {
    assert.deepEqual([verdict('mknod', 0, type | 0o666), verdict('mknodat', -100, 0, type | 0o666)], ['EPERM', 'EPERM'])
  }
})

test('the page about system calls names every one that is refused or checked', async () => {
  const page = await readFile(new URL('../../../docs/decisions/0013-system-calls.md', import.meta.url), 'utf8')
  const named = new Set(page.match(/`\w+`/g))
  assert.deepEqual(
    Object.keys(NUMBERS).filter((call) => !named.has(`\`${call}\``)),
    [],
  )
})
