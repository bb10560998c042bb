/**
 * Docker's engine in namespaces of its own for processes, mounts and the network, so that it binds no address of this
 * machine, changes no firewall rule, and ends with its first process, together with everything that it started.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'
import { BASE_FILES, BASE_IMAGE, CERTIFICATES, CLI_PLUGINS, dockerEnvironment } from './docker-packages.ts'

const MAX_MS = 300_000
const STOP_MS = 30_000
const MAX_LINES = 1000
const SHOWN_LINES = 100
/** Processes that were asked to end: one that ends by itself reports why. */
const ending = new WeakSet<ChildProcess>()
/** What a run of tests prints when Docker has crashed, which is no fault of what it tests. */
export const CRASHED = 'Docker has crashed.'

/** A test that is killed leaves no running process behind. */
export const WITH_US = ['--pdeathsig', 'KILL']

export type DockerEngine = {
  /** Environment of programs that talk to the engine. */
  environment: Record<string, string>
  /** Resolves to the output. */
  docker(...args: string[]): Promise<string>
  /** The command prefix that starts a program in the engine's network, where published ports are. */
  inside: string[]
}

/**
 * Mounted again, since a `/sys` shows the network namespace in which it was mounted. The cgroups are those of the
 * machine.
 */
const MACHINE = `
  hostname "$2"
  mount --rbind /sys/fs/cgroup "$1"
  mount -t sysfs sysfs /sys
  mount --rbind "$1" /sys/fs/cgroup
  ip link set lo up
  shift 2
  exec docker-init -s -- sh -c "$@"
`

/**
 * The machine goes on when its engine ends, and starts it again. As the guide to clusters has it, the engine starts without the networks
 * that it had, of which it would keep one by half, and without those of containers that it did not end.
 */
const ENGINE = `
  networks=$1
  ofContainers=$2
  shift 2
  trap 'kill "$engine"; wait "$engine"; exit' TERM
  while :; do
    umount "$ofContainers"/* 2>/dev/null || true
    rm -f "$networks"
    "$@" &
    engine=$!
    wait "$engine" && code=0 || code=$?
    echo "the engine has ended with $code" >&2
  done
`

/** Runs the clean-up functions one after the other, the last one first: what is removed is not used by a process any more. */
export function inReverse(test: Scope): Scope {
  const ends: (() => unknown)[] = []
  test.after(async () => {
    for (const end of ends) await end()
  })
  return { after: (end) => void ends.unshift(end) }
}

export async function startDocker(test: Scope): Promise<DockerEngine> {
  const t = inReverse(test)
  const machine = await startMachine(t)
  await connect(t, machine.pid)
  await importBase(machine)
  return machine
}

export type Machine = DockerEngine & {
  /** Ends the engine, with all containers, and resolves when it answers again. It is asked to end, or killed. */
  restart(signal?: 'TERM' | 'KILL'): Promise<void>
  /** Its first process, by whose id its namespaces are entered. */
  pid: number
  socketPath: string
}

type MachineOptions = {
  hostname?: string
  /** More options of the engine. */
  flags?: readonly string[]
}

/** An engine without a network but its own loopback. The scope has to end things in reverse. */
export async function startMachine(
  t: Scope,
  { hostname = 'machine', flags = [] }: MachineOptions = {},
): Promise<Machine> {
  const folder = await temporaryFolder(t)
  const group = `headland-test-${process.pid}-${hostname}`
  const socketPath = join(folder, 'docker.sock')
  const socket = `unix://${socketPath}`
  await mkdir(join(folder, 'cgroup'))
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ cliPluginsExtraDirs: [CLI_PLUGINS] }))
  const environment = { ...dockerEnvironment(), HOME: folder, DOCKER_HOST: socket, DOCKER_CONFIG: folder }
  const daemon = [
    ...['dockerd', '--host', socket, '--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
    ...['--pidfile', join(folder, 'pid'), '--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', `/${group}`],
    ...flags,
  ]
  const namespaces = ['--net', '--mount', '--uts', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child']
  const networks = [join(folder, 'data/network/files/local-kv.db'), join(folder, 'exec/netns')]
  const script = ['sh', '-euc', MACHINE, 'sh', join(folder, 'cgroup'), hostname, ENGINE, 'sh', ...networks]
  const machine = spawn('setpriv', [...WITH_US, 'unshare', ...namespaces, ...script, ...daemon], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => removeGroups(group))
  t.after(() => end(machine, () => firstOf(machine)))
  const output = watch(machine)
  await output.listening()
  const pid = firstOf(machine) as number
  const run = promisify(execFile)
  return {
    async restart(signal = 'TERM') {
      output.expectEnd()
      const answers = output.listening()
      const kill = ['sh', '-c', 'kill "-$1" "$(cat "$2")"', 'sh', signal, join(folder, 'pid')]
      await run('nsenter', ['-t', String(pid), '-p', '-m', ...kill])
      await answers
    },
    environment,
    socketPath,
    pid,
    inside: ['nsenter', `--net=/proc/${pid}/ns/net`],
    async docker(...args) {
      const options = { env: environment, timeout: MAX_MS, maxBuffer: 2 ** 24 }
      return (await run('docker', args, options)).stdout.trim()
    },
  }
}

/** The first process of the namespace, which sees itself as number 1. */
const firstOf = ({ pid }: ChildProcess): number | undefined =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()) || undefined

/** Reads what the engine says. One that ends without having been asked to has crashed, and no test of this process means anything. */
function watch(machine: ChildProcess) {
  const lines: string[] = []
  let isEndExpected = false
  let listens = Promise.withResolvers<void>()
  const exited = once(machine, 'exit').then(() => {
    throw new Error(`dockerd ended:\n${lines.join('\n')}`)
  })
  exited.catch((error) => process.stderr.write(ending.has(machine) ? '' : `${error.message}\n`))
  createInterface({ input: machine.stderr as Readable }).on('line', (line) => {
    if (lines.push(line) > MAX_LINES) lines.shift()
    if (line.includes('API listen on')) listens.resolve()
    if (!line.startsWith('the engine has ended with') || ending.has(machine)) return
    if (!isEndExpected) {
      process.stderr.write(`${CRASHED}\n${lines.slice(-SHOWN_LINES).join('\n')}\n`)
      process.exit(1)
    }
    isEndExpected = false
  })
  return {
    /** Resolves when it answers, for the first time or after the next end that is expected. */
    async listening() {
      listens = Promise.withResolvers()
      await Promise.race([listens.promise, exited])
    },
    expectEnd() {
      isEndExpected = true
    },
  }
}

/**
 * Gives the network of a process access to the internet, through a process that makes each connection itself. It reaches no
 * loopback address of the machine. `outside` is the command prefix that enters a network with access.
 */
export async function connect(t: Scope, pid: number, outside: readonly string[] = []) {
  const args = ['--configure', '--mtu=65520', '--disable-host-loopback', '--ready-fd=3', String(pid), 'tap0']
  const cable = spawn('setpriv', [...WITH_US, ...outside, 'slirp4netns', ...args], {
    env: dockerEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  t.after(() => end(cable, () => cable.pid))
  const exited = once(cable, 'exit').then(() => Promise.reject(new Error('slirp4netns ended')))
  await Promise.race([once(cable.stdio[3] as Readable, 'data'), exited])
}

async function importBase({ docker, environment }: DockerEngine) {
  const changes = [`ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, 'CMD ["node"]'].flatMap((line) => ['--change', line])
  const pack = spawn('tar', ['--create', '--directory', BASE_FILES, '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const args = ['import', ...changes, '-', BASE_IMAGE]
  const load = spawn('docker', args, { env: environment, stdio: [pack.stdout, 'ignore', 'inherit'] })
  const [code] = await once(load, 'exit')
  if (code !== 0) throw new Error(`docker import ended with ${code}`)
  await docker('image', 'inspect', BASE_IMAGE)
}

/** Asks a process to end, and kills the child where that takes too long. */
export async function end(child: ChildProcess, pidOf: () => number | undefined) {
  if (child.exitCode !== null || child.signalCode !== null) return
  ending.add(child)
  const exited = once(child, 'exit')
  const pid = pidOf()
  if (pid !== undefined) process.kill(pid, 'SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(late)
}

/** The groups of its containers, which nothing else removes: deepest first, as the kernel wants it. */
function removeGroups(name: string) {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').matchAll(/^\S+ (\S+) cgroup2? /gm)
  for (const [, mount = ''] of mounts) removeGroup(join(mount, name))
}

function removeGroup(folder: string) {
  let entries: { name: string; isDirectory(): boolean }[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  for (const entry of entries.filter((one) => one.isDirectory())) removeGroup(join(folder, entry.name))
  rmdirSync(folder)
}
