/** The role `node` on machines of a swarm, and the control process that they follow. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Isolation } from '../../../src/swarm/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { end, WITH_US } from '../machine/docker-engine.ts'
import type { Node, Swarm } from '../machine/swarm.ts'
import { until } from '../until.ts'
import type { ControlCall } from './control-process.ts'

const CONTROL = fileURLToPath(new URL('./control-process.ts', import.meta.url))
const HEADLAND = fileURLToPath(new URL('../../../bin/headland.js', import.meta.url))

export type NodeControl = Awaited<ReturnType<typeof startNodeControl>>

/** In the network between the nodes. The scope has to end things in reverse. */
export async function startNodeControl(t: Scope, swarm: Swarm, { leaseMs }: { leaseMs: number }) {
  const command = [...swarm.inside, process.execPath, CONTROL, swarm.address, await temporaryFolder(t), String(leaseMs)]
  const child = spawn('setpriv', [...WITH_US, ...command], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  t.after(() => end(child, () => child.pid))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const waiting = new Map<number, (value: unknown) => void>()
  child.on('message', ({ number, value }: { number: number; value: unknown }) => waiting.get(number)?.(value))
  let last = 0
  const ask = (call: ControlCall): Promise<unknown> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve)
      child.send({ number: last, call })
    })
  return {
    address: `${swarm.address}:${port}`,
    setRules: (isolation: Isolation) => ask({ setRules: isolation }),
    isConfirmed: (id: string) => ask({ isConfirmed: id }),
    tokenOf: (name: string) => ask({ tokenOf: name }) as Promise<string>,
  }
}

export type NodeRole = {
  start(): Promise<void>
  kill(): Promise<void>
  /** Of the process that supervises the others. */
  pid(): number
}

/** `headland serve --roles node` on that machine, as an operator starts it. */
export async function nodeRole(
  t: Scope,
  node: Node,
  control: Pick<NodeControl, 'address' | 'tokenOf'>,
): Promise<NodeRole> {
  const dataDir = await temporaryFolder(t)
  const token = await control.tokenOf(node.hostname)
  let child: ChildProcess | undefined
  t.after(() => child && end(child, () => child?.pid))

  return {
    async start() {
      const started = spawn('setpriv', [...WITH_US, ...node.inside, process.execPath, '--', HEADLAND, 'serve'], {
        env: {
          PATH: process.env.PATH,
          HEADLAND_DATA_DIR: dataDir,
          HEADLAND_ROLES: 'node',
          HEADLAND_CONTROL_ADDRESSES: control.address,
          HEADLAND_CLUSTER_TOKEN: token,
          HEADLAND_DOCKER_SOCKET: node.socketPath,
          HEADLAND_LOG_LEVEL: 'error',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      child = started
      const ended = once(started, 'exit').then(() => Promise.reject(new Error('the role node ended')))
      await Promise.race([once(started.stdout as Readable, 'data'), ended])
      ended.catch(() => undefined)
    },
    /** With its supervisor, so that it does not come back. */
    async kill() {
      const killed = child
      child = undefined
      killed?.kill('SIGKILL')
      if (killed) await once(killed, 'exit')
    },
    pid: () => child?.pid ?? 0,
  }
}

const LISTENER = `
const { createServer } = require('node:net')
const { createSocket } = require('node:dgram')
const places = JSON.parse(process.argv[1])
const opened = places.map(({ kind, host, port }) => new Promise((resolve) => {
  if (kind === 'udp') {
    const socket = createSocket('udp4')
    socket.on('message', (_, from) => (console.log(from.address), socket.send('here', from.port, from.address)))
    socket.bind(port, host, resolve)
  } else {
    createServer((socket) => socket.on('error', () => {}).on('data', () => socket.write('here'))).listen(port, host, resolve)
  }
}))
Promise.all(opened).then(() => console.log('ready'))
`

export type Place = { kind: 'tcp' | 'udp'; host: string; port: number }

/** Listens in another network. Resolves to a function with the addresses from which something came by UDP. */
export async function listenIn(t: Scope, inside: readonly string[], places: readonly Place[]) {
  const command = [...inside, process.execPath, '-e', LISTENER, JSON.stringify(places)]
  const child = spawn('setpriv', [...WITH_US, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => end(child, () => child.pid))
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  await until(() => output.includes('ready'), 'it listens')
  return (): string[] => output.split('\n').filter((line) => line !== '' && line !== 'ready')
}

/** Runs a program in the network of a machine, with root; resolves to its output. */
export async function runIn(inside: readonly string[], ...command: string[]): Promise<string> {
  const [file = '', ...args] = [...inside, ...command]
  return (await promisify(execFile)(file, args)).stdout
}
