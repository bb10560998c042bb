/** The filter of system calls and the masks of /proc, with the real kernel: what is refused, and what still works. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmod, chown, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { openToolchains } from '../../src/builds/toolchain/index.ts'
import { machineEnvironment } from '../../src/config.ts'
import type { Mount } from '../../src/engines/index.ts'
import { LAUNCHER } from '../../src/engines/process.ts'
import { INSIDE, LAUNCH, sandboxArguments } from '../../src/engines/sandbox/command.ts'
import { lookAtSystem } from '../../src/engines/sandbox/system.ts'
import { ERRNO } from '../../src/engines/seccomp/bpf.ts'
import { seccompProgram } from '../../src/engines/seccomp/index.ts'
import { NUMBERS, type SystemCallName } from '../../src/engines/seccomp/numbers.ts'
import { REFUSED } from '../../src/engines/seccomp/refused.ts'
import { temporaryFolder } from '../support/folder.ts'

const program = seccompProgram() ?? assert.fail('the tests need x64 or arm64')

const isRoot = process.getuid?.() === 0
const TENANT = { uid: 210_013, gid: 210_013 }
const system = await lookAtSystem({ isFiltered: true })

type Options = {
  mounts?: Mount[]
  path?: string
  environment?: Record<string, string>
  cwd?: string
  /** Bubblewrap started by a user other than root, as by a service without root. */
  isPlain?: boolean
  /** Root inside, without any capability, which no tenant ever gets. */
  isRootInside?: boolean
}

/** Runs a program in the sandbox, with descriptor 3 for its instructions and 4 for the filter. */
async function run(argv: readonly string[], options: Options = {}) {
  const { mounts = [], path = '/usr/bin:/bin:/usr/sbin:/sbin', environment = {}, cwd = '/tmp' } = options
  const { isPlain = !isRoot, isRootInside = false } = options
  const ours = [
    { from: process.execPath, to: INSIDE.node, isWritable: false },
    { from: LAUNCHER, to: INSIDE.launcher, isWritable: false },
  ]
  const identity = isPlain
    ? ['--unshare-user', '--disable-userns', '--cap-drop', 'ALL']
    : ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID']
  const args = sandboxArguments({ mounts, ours, identity }, system)
  const child = spawn('/usr/bin/bwrap', [...args, ...LAUNCH], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    ...(isPlain && isRoot ? TENANT : {}),
  })
  const user = isPlain || isRootInside ? undefined : TENANT
  const instructions = { argv, cwd, environment: { HOME: '/tmp', ...environment, PATH: path }, user }
  ;(child.stdio[3] as NodeJS.WritableStream).end(JSON.stringify(instructions))
  ;(child.stdio[4] as NodeJS.WritableStream).end(program)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk
    })
  }
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject).once('close', resolve)
  return { code: await promise, text: text.trim() }
}

const numberOf = (call: SystemCallName): number | null => NUMBERS[call][process.arch === 'x64' ? 0 : 1]

/** Makes each call in turn, and returns the number of its error: 0 is none. */
const CALLER = 'for (@ARGV) { my ($nr, @a) = map { $_ + 0 } split /,/; print syscall($nr, @a) == -1 ? $! + 0 : 0, " " }'

async function errors(calls: readonly (readonly [call: SystemCallName, ...args: number[]])[], options: Options = {}) {
  const lists = calls.map(([call, ...args]) => [numberOf(call) ?? -1, ...args].join())
  const { code, text } = await run(['perl', '-e', CALLER, '--', ...lists], options)
  assert.equal(code, 0, text)
  const found = text.split(' ').map(Number)
  assert.equal(found.length, calls.length, text)
  return found
}

const runNode = (script: string, options?: Options) => run(['/headland/node', '-e', script], options)

// Refused calls.

test('the kernel answers every refused call as the list says', async () => {
  const listed = REFUSED.flatMap(({ calls, answer }) =>
    calls.filter((call) => numberOf(call) !== null).map((call) => ({ call, answer })),
  )
  const found = await errors(listed.map(({ call }) => [call, 0, 0, 0, 0, 0, 0] as const))
  assert.deepEqual(
    listed.map(({ call }, index) => `${call} ${found[index]}`),
    listed.map(({ call, answer }) => `${call} ${ERRNO[answer]}`),
  )
})

/** A user other than root must be able to reach the launcher. */
const isReachable = !isRoot || spawnSync('/usr/bin/test', ['-r', LAUNCHER], TENANT).status === 0

for (const isPlain of isRoot ? [false, true] : [true]) {
  const who = isPlain ? 'without root' : 'with root'
  const options = { skip: isPlain && !isReachable }
  test(`a service ${who}: a program makes no namespace of its own`, options, async () => {
    for (const kind of ['-U', '-n', '-m', '-Ur']) {
      const { code, text } = await run(['unshare', kind, 'true'], { isPlain })
      assert.match(`${code} ${text}`, /^1 unshare: unshare failed: Operation not permitted/, kind)
    }
    const newUser = 0x10000000
    const sigchld = 17
    assert.deepEqual(await errors([['clone', newUser | sigchld, 0, 0, 0, 0]], { isPlain }), [ERRNO.EPERM])
  })
}

test('a program mounts nothing and changes its root nowhere', async () => {
  const { text } = await run(['sh', '-c', 'mount -t tmpfs none /tmp; chroot /usr /bin/true'])
  assert.match(text, /^mount: \/tmp: (must be superuser|permission denied)[\s\S]*chroot: .*: Operation not permitted$/)
})

test('a program cannot trace another, not even its own child', async () => {
  const [traceMe, attach] = [0, 16]
  assert.deepEqual(
    await errors([
      ['ptrace', traceMe],
      ['ptrace', attach, 1],
    ] as const),
    [ERRNO.EPERM, ERRNO.EPERM],
  )
})

test('there are no sockets but local ones, those of the internet and the list of interfaces', async () => {
  const [unix, inet, inet6, netlink, packet, alg, vsock, bluetooth] = [1, 2, 10, 16, 17, 38, 40, 31]
  const [stream, datagram, raw, seqpacket, oldPacket] = [1, 2, 3, 5, 10]
  const [netfilter, sctp] = [12, 132]
  assert.deepEqual(
    await errors([
      ['socket', unix, stream, 0],
      ['socket', inet, stream, 0],
      ['socket', inet, datagram, 0],
      ['socket', netlink, raw, 0],
      ['socket', packet, raw, 0],
      ['socket', alg, seqpacket, 0],
      ['socket', vsock, stream, 0],
      ['socket', bluetooth, raw, 0],
      ['socket', inet, oldPacket, 0],
      ['socket', netlink, raw, netfilter],
      ['socket', inet, stream, sctp],
      ['socketpair', inet6, stream, 0, 0],
    ]),
    [0, 0, 0, 0, 97, 97, 97, 97, 1, 93, 93, 97],
  )
})

test('bits that the kernel ignores do not bypass a check', async () => {
  const upper = 2 ** 32
  const found = await errors([
    ['socket', upper + 38, 5, 0],
    ['ioctl', 0, upper + 0x5412, 0],
  ])
  assert.deepEqual(found, [ERRNO.EAFNOSUPPORT, ERRNO.EPERM])
})

test('nothing can be typed into a terminal, and no device can be made', async () => {
  const [typeInto, discipline, setAttributes] = [0x5412, 0x5423, 0x401c5820]
  const found = await errors([
    ['ioctl', 0, typeInto, 0],
    ['ioctl', 0, discipline, 0],
    ['ioctl', 0, setAttributes, 0],
    ['mknodat', -100, 0, 0x2000],
    ['personality', 0x40000],
  ])
  assert.deepEqual(found, [ERRNO.EPERM, ERRNO.EPERM, ERRNO.ENOTTY, ERRNO.EPERM, ERRNO.EPERM])
})

test('the filter holds for every process inside, the first one as well', async () => {
  const { text } = await run(['sh', '-c', 'grep -h Seccomp: /proc/1/status /proc/self/status'])
  assert.deepEqual(text.match(/\d/g), ['2', '2'])
})

test('a program may still put a filter of its own over it', async () => {
  const [x64, arm64] = [317, 277]
  const script = `syscall(${process.arch === 'x64' ? x64 : arm64}, 1, 0, 0); print $! + 0`
  // EFAULT: the kernel tried to read the filter from an invalid address, so the call was allowed.
  assert.equal((await run(['perl', '-e', script])).text, '14')
})

// What a program can see.

test('there are the usual devices and no others', async () => {
  const isDevice = 'for f in /dev/* /dev/pts/* /dev/shm/*; do [ -L $f ] || [ ! -c $f -a ! -b $f ] || echo $f; done'
  const { text } = await run(['sh', '-c', isDevice])
  assert.deepEqual(
    text.split('\n'),
    ['full', 'null', 'random', 'tty', 'urandom', 'zero', 'pts/ptmx'].map((name) => `/dev/${name}`),
  )
})

test('there is no terminal', async () => {
  assert.match((await run(['sh', '-c', 'echo > /dev/tty'])).text, /No such device or address/)
})

test('every mount ignores setuid bits', async () => {
  const { text } = await run(['sh', '-c', 'grep -v nosuid /proc/self/mountinfo; echo none'])
  assert.equal(text, 'none')
})

test('a program with a setuid bit gains nothing', { skip: !isRoot }, async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'id')
  await copyFile('/usr/bin/id', file)
  await chmod(file, 0o4755)
  await chmod(folder, 0o755)
  assert.equal(spawnSync(file, ['-u'], TENANT).stdout.toString(), '0\n', 'outside it does')
  const { text } = await run(['/tools/id', '-u'], { mounts: [{ from: folder, to: '/tools', isWritable: true }] })
  assert.equal(text, String(TENANT.uid))
})

const SAME_AGAIN = 'cat /proc/sys/vm/swappiness > /tmp/value; cat /tmp/value > /proc/sys/vm/swappiness'

test('no setting of the kernel can be written', async () => {
  assert.match((await run(['sh', '-c', SAME_AGAIN])).text, /swappiness: (Read-only file system|Permission denied)$/)
})

test('no setting of the kernel can be written by root inside, if ever there is one', { skip: !isRoot }, async () => {
  const { text } = await run(['sh', '-c', SAME_AGAIN], { isRootInside: true })
  assert.match(text, /swappiness: Read-only file system$/)
})

test('not even what /proc has of a program itself can be written', async () => {
  const { text } = await run(['sh', '-c', 'for name in mem comm oom_score_adj; do echo >> /proc/$$/$name; done'])
  assert.equal(text.match(/Read-only file system/g)?.length, 3, text)
})

test('files of /proc about the machine cannot be read, and those about processes can', async () => {
  const script = `cd /proc; cat cmdline keys interrupts; ls fs bus; grep -c . cpuinfo meminfo self/stat`
  const { text } = await run(['sh', '-c', script])
  assert.equal(text.match(/Permission denied|No such file/g)?.length, 5, text)
  assert.match(text, /cpuinfo:\d+\nmeminfo:\d+\nself\/stat:1$/)
})

test('there is no /sys', async () => {
  assert.match((await run(['ls', '/sys'])).text, /No such file or directory$/)
})

// Calls that still work.

test('Node starts threads and processes, and waits for them', async () => {
  const { code, text } = await runNode(`
    const { Worker } = require('node:worker_threads'), { execFile } = require('node:child_process')
    const worker = new Worker('require("node:worker_threads").parentPort.postMessage("thread")', { eval: true })
    worker.on('message', (text) => execFile('echo', ['child'], (_, out) => console.log(text, out.trim())))`)
  assert.deepEqual([code, text], [0, 'thread child'])
})

test('Node serves and asks over TCP, UDP and a local socket', async () => {
  const { code, text } = await runNode(`
    const http = require('node:http'), net = require('node:net'), dgram = require('node:dgram')
    const server = http.createServer((_, answer) => answer.end('tcp'))
    server.listen(0, '127.0.0.1', async () => {
      const reply = await (await fetch('http://127.0.0.1:' + server.address().port)).text()
      server.close()
      const local = net.createServer((socket) => socket.end('local')).listen('/tmp/socket', () => {
        net.connect('/tmp/socket').on('data', (data) => {
          local.close()
          const udp = dgram.createSocket('udp4')
          udp.on('message', (message) => { console.log(reply, String(data), String(message)); udp.close() })
          udp.bind(0, '127.0.0.1', () => udp.send('udp', udp.address().port, '127.0.0.1'))
        })
      })
    })`)
  assert.deepEqual([code, text], [0, 'tcp local udp'])
})

test('Node resolves names and lists network interfaces', async () => {
  const { code, text } = await runNode(`
    const dns = require('node:dns'), os = require('node:os')
    const hasLoopback = 'lo' in os.networkInterfaces()
    dns.lookup('localhost', (fault, address) => console.log(fault ?? address, hasLoopback))`)
  assert.equal(code, 0, text)
  assert.match(text, /^(127\.0\.0\.1|::1) true$/)
})

test('Node watches files, keeps time and knows how many processors there are', async () => {
  const { code, text } = await runNode(`
    const fs = require('node:fs'), os = require('node:os')
    fs.writeFileSync('/tmp/seen', '')
    const watcher = fs.watch('/tmp/seen', () => {
      watcher.close()
      setTimeout(() => console.log('changed', os.availableParallelism(), os.cpus().length > 0), 5)
    })
    fs.appendFileSync('/tmp/seen', 'more')`)
  assert.deepEqual([code, text], [0, `changed ${availableParallelism()} true`])
})

test('Node that is told to use io_uring reads files without it', async () => {
  const { code, text } = await runNode(
    `require('node:fs').readFile('/proc/self/status', 'utf8', (fault, text) => console.log(fault ?? text.length > 0))`,
    { environment: { UV_USE_IO_URING: '1' } },
  )
  assert.deepEqual([code, text], [0, 'true'])
})

test('a named pipe can be made', async () => {
  const { code, text } = await run(['sh', '-c', 'mkfifo pipe && (echo through > pipe & cat pipe)'])
  assert.deepEqual([code, text], [0, 'through'])
})

/** The machine's own Node and npm, as builds see them. */
const toolchains = await openToolchains({
  folder: join(await temporaryFolder({ after }), 'tools'),
  environment: machineEnvironment(),
  isIsolating: true,
})
const { mounts: tools, path, environment } = await toolchains.open(toolchains.own())

async function workspace(t: TestContext) {
  const folder = join(await temporaryFolder(t), 'app')
  await mkdir(folder)
  if (isRoot) await chown(folder, TENANT.uid, TENANT.gid)
  const mounts = [...tools, { from: folder, to: '/app', isWritable: true }]
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    if (isRoot) await chown(join(folder, name), TENANT.uid, TENANT.gid)
  }
  return { write, options: { mounts, path, environment, cwd: '/app' } }
}

test('npm says its version', async (t) => {
  const { options } = await workspace(t)
  const { code, text } = await run(['npm', '--version'], options)
  assert.deepEqual([code, /^\d+\.\d+\.\d+$/.test(text)], [0, true], text)
})

test('npm installs esbuild from the registry, whose program of Go then builds a file', async (t) => {
  const { write, options } = await workspace(t)
  await write('package.json', '{ "private": true }')
  await write('page.ts', 'const words: string[] = ["built"]\nconsole.log(words.join())\n')
  const install = await run(['npm', 'install', '--no-audit', '--no-fund', 'esbuild@0.28.2'], options)
  assert.equal(install.code, 0, install.text)
  const built = await run(['npx', 'esbuild', 'page.ts', '--bundle', '--minify', '--outfile=page.js'], options)
  assert.equal(built.code, 0, built.text)
  assert.equal((await run(['node', 'page.js'], options)).text, 'built')
})
