/** Jobs in network views, and a few simulated hosts around this machine, so that no test needs a real network. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { accessSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createNetns, run, runIp } from '../../../src/engines/network/commands.ts'
import { addressesIn, readQuestion } from '../../../src/engines/network/dns/message.ts'
import { type NetworkOptions, type Networks, openNetworks } from '../../../src/engines/network/index.ts'
import { deleteLink } from '../../../src/engines/network/links.ts'
import type { NetworkNamespace } from '../../../src/engines/network/namespace.ts'
import { DEFAULT_NETWORK_SETTINGS } from '../../../src/engines/network/settings.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { testSandbox } from './engine.ts'

const BUBBLEWRAP = '/usr/bin/bwrap'
const TENANT = { uid: 265_001, gid: 265_001 }

/** Why these tests cannot run here; undefined if they can. */
export async function reasonToSkip(scope: Scope): Promise<string | undefined> {
  try {
    accessSync(BUBBLEWRAP)
    await open(scope)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

/** Closed at the end of the test. */
export async function open(
  scope: Scope,
  { folder, ...options }: Partial<NetworkOptions> = {},
): Promise<Networks & { folder: string }> {
  const dataFolder = folder ?? (await temporaryFolder(scope))
  const networks = await openNetworks({
    folder: dataFolder,
    settings: DEFAULT_NETWORK_SETTINGS,
    onProblem(error) {
      throw error
    },
    ...options,
  })
  if ('missing' in networks) throw new Error(networks.missing)
  scope.after(() => networks.close())
  return { ...networks, folder: dataFolder }
}

/** Runs a script of Node as a tenant's job, in its sandbox and in a view; resolves with what it printed. */
export async function runJob(view: NetworkNamespace, script: string, values: unknown = {}): Promise<string> {
  const { text, exited } = await startJob(view, script, values)
  const { code } = await exited
  assert.equal(code, 0, text())
  return text()
}

export async function startJob(view: NetworkNamespace, script: string, values: unknown = {}) {
  const job = {
    argv: ['/headland/node', '-e', `const values = ${JSON.stringify(values)}\n${script}`],
    cwd: '/tmp',
    environment: { NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt' },
    mounts: [],
    network: view,
    user: TENANT,
  }
  let text = ''
  const printed = Promise.withResolvers<void>()
  engine ??= testSandbox(BUBBLEWRAP)
  const running = await (await engine).start(job, (_stream, chunk) => {
    text += chunk
    printed.resolve()
  })
  running.exited.finally(printed.resolve)
  return { ...running, text: () => text, printed: printed.promise }
}

let engine: ReturnType<typeof testSandbox> | undefined

/** How each place answers a job that calls it: `reached`, `late`, or the code of the error. */
export async function callFrom(view: NetworkNamespace, places: Record<string, Place>): Promise<Record<string, string>> {
  return JSON.parse(await runJob(view, CALL, places))
}

type Place = { host: string; port: number; localAddress?: string }

export const CALL = `
const { connect } = require('node:net')
const call = ([name, place]) => new Promise((resolve) => {
  const socket = connect({ ...place, timeout: 3000 })
  const settle = (how) => { socket.destroy(); resolve([name, how]) }
  socket.once('connect', () => settle('reached'))
  socket.once('timeout', () => settle('late'))
  socket.once('error', ({ code }) => settle(code))
})
Promise.all(Object.entries(values).map(call)).then((found) => console.log(JSON.stringify(Object.fromEntries(found))))
`

/** A neighbour of this machine on a network of its own, with a listener that answers with the address of the caller. */
export async function startNeighbour(scope: Scope) {
  const number = randomInt(1, 65_536)
  const link = `nb${number}`
  // A random network of four addresses, so that parallel tests seldom collide.
  const net = `198.18.${number >> 8}`
  const first = (number & 63) * 4
  const [machine, address, lan] = [
    `${net}.${first + 1}`,
    `${net}.${first + 2}`,
    `172.31.${number >> 8}.${number & 255}`,
  ]
  const namespace = await createNetns([
    `link add name eth0 type veth peer name ${link} netns ${process.pid}`,
    'link set dev lo up',
    'link set dev eth0 up',
    `addr add ${address}/30 dev eth0`,
    `addr add ${lan}/32 dev eth0`,
    `route add default via ${machine}`,
  ])
  await runIp([`addr add ${machine}/30 dev ${link}`, `link set dev ${link} up`, `route add ${lan}/32 dev ${link}`])
  const [file = '', ...args] = namespace.enter([process.execPath, '-e', ANSWER_WITH_CALLER])
  const listener = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(listener, 'close')
  scope.after(async () => {
    listener.kill('SIGKILL')
    await gone
    await deleteLink(link)
    namespace.close()
  })
  const [port] = await once(listener.stdout, 'data')
  return {
    /** The neighbour's address, its private address, and the address of this machine in that network. */
    address,
    lan,
    machine,
    link,
    port: Number(port),
    async call(places: Record<string, Place>): Promise<Record<string, string>> {
      const script = `const values = ${JSON.stringify(places)}\n${CALL}`
      const [node = '', ...rest] = namespace.enter([process.execPath, '-e', script])
      return JSON.parse(await run(node, rest))
    },
  }
}

const ANSWER_WITH_CALLER = `
const server = require('node:net').createServer((socket) => socket.on('error', () => {}).end(socket.remoteAddress))
server.listen(0, '0.0.0.0', () => console.log(server.address().port))
`

/** A listener on every address of this machine, and the number of calls it received. */
export async function startListener(scope: Scope, host = '0.0.0.0') {
  const listener = { port: 0, calls: 0 }
  const server = createServer((socket) => {
    listener.calls++
    socket.destroy()
  })
  server.listen({ host, port: 0 })
  await once(server, 'listening')
  scope.after(() => server.close())
  listener.port = (server.address() as { port: number }).port
  return listener
}

/** A resolver on loopback, as many machines have one, and the file that names it. */
export async function startResolver(scope: Scope, addressOf: Record<string, string>) {
  const address = `127.77.${randomInt(256)}.${randomInt(1, 255)}`
  const answer = (query: Buffer, isTruncated: boolean): Buffer => {
    const question = readQuestion(query)
    const found = addressOf[question?.name ?? '']
    const reply = Buffer.from(query.subarray(0, question?.end))
    reply.writeUInt16BE(isTruncated ? 0x8380 : found ? 0x8180 : 0x8183, 2)
    reply.writeUInt16BE(found && !isTruncated ? 1 : 0, 6)
    reply.fill(0, 8, 12)
    if (!found || isTruncated) return reply
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...found.split('.').map(Number)])
    const whole = Buffer.concat([reply, record])
    assert.deepEqual(addressesIn(whole), [found])
    return whole
  }
  const udp = createSocket('udp4')
  udp.on('message', (query, { port, address: from }) =>
    udp.send(answer(query, readQuestion(query)?.name.startsWith('big.') === true), port, from),
  )
  udp.bind({ address, port: 53 })
  const tcp = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => {
      const reply = answer(chunk.subarray(2), false)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(reply.length)
      socket.end(Buffer.concat([length, reply]))
    })
  })
  tcp.listen({ host: address, port: 53 })
  await Promise.all([once(udp, 'listening'), once(tcp, 'listening')])
  scope.after(() => {
    udp.close()
    tcp.close()
  })
  const resolverFile = join(await temporaryFolder(scope), 'resolv.conf')
  await writeFile(resolverFile, `nameserver ${address}\noptions ndots:1\n`)
  return resolverFile
}

/** Addresses that this machine keeps: those of other tests come and go. */
export const steadyAddresses = (): string[] =>
  Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    /^(hl-|nb\d)/.test(name) ? [] : all.flatMap(({ family, address }) => (family === 'IPv4' ? address : [])),
  )

/** The network interfaces and firewall tables of a service on this machine, found by name. */
export async function tracesOf(id: string): Promise<string[]> {
  const [links, routes, tables] = await Promise.all([
    run('ip', ['-br', 'link']),
    run('ip', ['route', 'show', 'table', 'all']),
    run('nft', ['list', 'tables']),
  ])
  return [links, routes, tables].flatMap((text) => text.split('\n').filter((line) => line.includes(id)))
}
