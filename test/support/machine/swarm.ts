/**
 * A swarm of three Docker engines, each on a machine of its own: namespaces that a bridge in a fourth network joins. Nothing is
 * bound outside of them, and everything ends with the test.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createDocker, type Docker, prepareNode, prepareSwarm } from '../../../src/swarm/index.ts'
import type { Scope } from '../folder.ts'
import { end, inReverse, type Machine, startMachine, WITH_US } from './docker-engine.ts'
import { isEngineThere } from './docker-packages.ts'

const run = promisify(execFile)

/** The option of a test that needs it. */
export const NEEDS_SWARM = {
  skip: process.getuid?.() === 0 && isEngineThere() ? false : 'root on Debian does it, with npm run test:swarm',
}

export type Node = Machine & {
  hostname: string
  /** Of the node in the swarm. */
  id: string
  address: string
  client: Docker
  /** Cuts it off from all others. */
  unplug(): Promise<void>
  plugIn(): Promise<void>
}

export type Swarm = {
  nodes: readonly [Node, Node, Node]
  /** The manager's. */
  docker: Docker
  /** The command prefix that starts a program in the network between the nodes, where edges and registries are. */
  inside: readonly string[]
  /** The address in that network. */
  address: string
  /** Asks for a page from the network between the nodes; undefined where there is no answer. */
  visit(url: string): Promise<{ status: number; text: string } | undefined>
}

const NETWORK = '10.99.0'
const ADDRESS = `${NETWORK}.1`
const LABEL = 'region'

/** Nothing of it sleeps: it ends with its standard input. */
const SWITCH = `
  ip link set lo up
  ip link add br0 type bridge
  if [ "$1" ]; then ip addr add "$1/24" dev br0; fi
  ip link set br0 up
  echo ready
  exec cat
`

type Options = {
  /** Whether this process, in a network of its own, is at the address between the nodes, as a further machine. */
  isHere?: boolean
  /** Without it, the role of nodes makes the network of apps. */
  hasNetwork?: boolean
}

/** A machine with Docker that the bridge joins with the others. */
export type JoinedMachine = Machine & Pick<Node, 'hostname' | 'address' | 'unplug' | 'plugIn'>

type NetworkOptions = { network?: string; isHere?: boolean }

/** The network that joins machines, without any of them. The scope has to end things in reverse. */
export async function startNetwork(t: Scope, { network = NETWORK, isHere = false }: NetworkOptions = {}) {
  const own = `${network}.1`
  const pid = await startSwitch(t, isHere ? '' : own)
  const middle = ['nsenter', `--net=/proc/${pid}/ns/net`]
  const ip = (...args: string[]) => exec([...middle, 'ip', ...args])
  if (isHere) {
    await ip('link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(process.pid))
    await exec(['ip', 'addr', 'add', `${own}/24`, 'dev', 'eth0'])
    await exec(['ip', 'link', 'set', 'eth0', 'up'])
    await ip('link', 'set', 'v0', 'master', 'br0', 'up')
  }
  return {
    inside: isHere ? [] : middle,
    /** Of the first machine, the number is 1. */
    async addMachine(number: number, hostname: string): Promise<JoinedMachine> {
      const flags = ['--insecure-registry', `${network}.0/24`, '--userland-proxy=false']
      const machine = await startMachine(t, { hostname, flags })
      const address = `${network}.${10 + number}`
      const cable = `v${number}`
      await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(machine.pid))
      await exec([...machine.inside, 'ip', 'addr', 'add', `${address}/24`, 'dev', 'eth0'])
      await exec([...machine.inside, 'ip', 'link', 'set', 'eth0', 'up'])
      await exec([...machine.inside, 'ip', 'route', 'add', 'default', 'via', own])
      await ip('link', 'set', cable, 'master', 'br0', 'up')
      return {
        ...machine,
        hostname,
        address,
        unplug: () => ip('link', 'set', cable, 'down'),
        plugIn: () => ip('link', 'set', cable, 'up'),
      }
    },
  }
}

/** With a region for each node; an empty one is none. */
export async function startSwarm(
  test: Scope,
  regions: readonly [string, string, string],
  { isHere = false, hasNetwork = true }: Options = {},
): Promise<Swarm> {
  const t = inReverse(test)
  const { inside, addMachine } = await startNetwork(t, { isHere })
  const nodes = await Promise.all(
    [1, 2, 3].map(async (number): Promise<Node> => {
      const machine = await addMachine(number, `node${number}`)
      const client = createDocker({ address: { socketPath: machine.socketPath } })
      t.after(() => client.close())
      return { ...machine, id: '', client }
    }),
  )
  const [first, ...others] = nodes as [Node, Node, Node]
  await first.docker('swarm', 'init', '--advertise-addr', first.address, '--dispatcher-heartbeat', '2s')
  const token = await first.docker('swarm', 'join-token', '--quiet', 'worker')
  await Promise.all(others.map((node) => node.docker('swarm', 'join', '--token', token, `${first.address}:2377`)))
  for (const [number, node] of nodes.entries()) {
    if (hasNetwork) await prepareNode(node.client, `10.211.${4 * number}.0/22`)
    node.id = (await node.client.info()).Swarm.NodeID
    const region = regions[number] ?? ''
    if (region !== '')
      await first.client.changeNode(node.id, (spec) => ({ ...spec, Labels: { ...spec.Labels, [LABEL]: region } }))
  }
  if (hasNetwork) await prepareSwarm(first.client)

  return {
    nodes: nodes as unknown as Swarm['nodes'],
    docker: first.client,
    inside,
    address: ADDRESS,
    visit: (url) => visitFrom(inside, url),
  }
}

/** Joins the nodes, in a network of its own, in which it may have an address. Returns its process. */
async function startSwitch(t: Scope, address: string): Promise<number> {
  const middle = spawn('setpriv', [...WITH_US, 'unshare', '--net', 'sh', '-euc', SWITCH, 'sh', address], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => end(middle, () => middle.pid))
  const exited = once(middle, 'exit').then(() => Promise.reject(new Error('the network between the nodes ended')))
  await Promise.race([once(middle.stdout as Readable, 'data'), exited])
  exited.catch(() => undefined)
  return middle.pid as number
}

/** Asks for a page with curl, from the network that the command prefix enters. */
export async function visitFrom(inside: readonly string[], url: string) {
  const options = ['--silent', '--noproxy', '*', '--max-time', '10', '--connect-timeout', '2']
  const [file = '', ...args] = [...inside, 'curl', ...options, '--write-out', '\n%{http_code}', url]
  try {
    const { stdout } = await run(file, args, { maxBuffer: 2 ** 24 })
    const at = stdout.lastIndexOf('\n')
    return { status: Number(stdout.slice(at + 1)), text: stdout.slice(0, at) }
  } catch (error) {
    // An exit code of curl: no connection, or none that lasted.
    if (typeof (error as { code?: unknown }).code === 'number') return undefined
    throw error
  }
}

async function exec([file = '', ...args]: readonly string[]) {
  await run(file, args)
}
