/**
 * The process of `headland serve`. It holds the lock of the data folder and the listening sockets, starts the processes of the
 * service, and starts them again when they die. It does nothing else, so it has little reason to die itself.
 *
 * The agent opens the networks of apps, in which the control process listens to them, so it is ready before control starts. Edges
 * and control stop together, since the last counts of the edges are for the control process; the agent stops last, with the apps.
 */

import { cannotListen } from '../addresses.ts'
import { createAgentClient } from '../agent/index.ts'
import { createLog, createTurns, type Log, systemClock } from '../base/index.ts'
import { Refused } from '../contract/index.ts'
import { filesIn } from '../data-files.ts'
import { takeDataFolder } from '../data-lock.ts'
import { type Config, formatListen } from '../settings.ts'
import { version } from '../version.ts'
import type { AgentReady } from './agent.ts'
import { checkRoles } from './check-roles.ts'
import { afterStart } from './child.ts'
import type { ControlReady } from './control.ts'
import { listenToOperators } from './operators.ts'
import { replace } from './replace.ts'
import { openSocket, type SharedSocket } from './sockets.ts'
import { createStarts, type EdgeSockets, type Running, type Sockets } from './starts.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { edge: 6_000, control: 20_000, agent: 8_000, node: 6_000, files: 1_000 }

type Commands = {
  /** The file of the command line, of which all processes are started. */
  program: string
  commandOf(program: string, role: string): readonly string[]
  /** The database is lost. */
  onDeath(error: Error): void
}

export type Service = {
  /** Of what it runs. */
  addresses: Partial<ControlReady>
  /** Starts all processes anew from the same file. A failure is logged, and the old ones go on. */
  reload(): Promise<void>
  stop(): Promise<void>
}

export async function serve(config: Config, { program: first, commandOf, onDeath }: Commands): Promise<Service> {
  const clock = systemClock
  const log = createLog(config.logLevel, config.logFormat)
  let program = first
  const { roles } = config
  const isOnSwarm = config.engine === 'swarm'
  checkSockets(config.dataDir)
  checkRoles(config)
  // A worker has an agent of its own.
  const hasAgent = roles.includes('agent') || roles.includes('worker')
  const release = await takeDataFolder(config.dataDir, hasAgent ? [...new Set([...roles, 'agent' as const])] : roles)
  const running: Running = {
    edges: [],
    files: undefined,
    control: undefined,
    agent: undefined,
    node: undefined,
    oldAgents: new Set(),
    oldEdges: new Set(),
  }

  let operators: Awaited<ReturnType<typeof listenToOperators>> | undefined
  const stopping = new AbortController()
  let reloading: Promise<unknown> = Promise.resolve()

  async function stop() {
    log.info('stopping')
    stopping.abort()
    await operators?.close()
    await stopAll()
    // A reload that was under way may have put new processes in their place.
    await reloading
    await stopAll()
    release()
    log.info('stopped')
  }

  async function stopAll() {
    const edges = [...running.edges, ...running.oldEdges].map((edge) => edge.stop(GRACE_MS.edge))
    await Promise.all([...edges, running.control?.stop(GRACE_MS.control), running.node?.stop(GRACE_MS.node)])
    await running.files?.stop(GRACE_MS.files)
    // Old agents end with the last of their apps, which the newest one stops.
    await running.agent?.stop(GRACE_MS.agent)
    await Promise.all([...running.oldAgents].map((agent) => agent.stop(0)))
  }

  try {
    const sockets = await openSockets(config)
    const start = createStarts({
      ...{ clock, log, config, sockets, onDeath, stopping: stopping.signal },
      commandOf: (role) => commandOf(program, role),
    })
    // Visitors are answered from here on, with the routes and the cache of the last run.
    const [agent] = await Promise.all([
      hasAgent ? start.agent(moveTo) : undefined,
      ...sockets.edges.map(async (_, index) => {
        running.edges[index] = await start.edge(index)
      }),
      start.files().then((files) => {
        running.files = files
      }),
    ])
    running.agent = agent
    if (roles.includes('node')) running.node = await start.node()
    if (roles.includes('control') || roles.includes('worker')) {
      if (!isOnSwarm) await openFor(agent?.ready.gateway ?? (await gatewayOfAgent(config, log)))
      running.control = await start.control()
    }

    /** Apps of each agent reach the service at another address; those on a swarm have one for all. */
    async function openFor(gateway: string) {
      if (isOnSwarm) return
      if (sockets.inApp.some(({ address }) => address.host === gateway)) return
      sockets.inApp = [await openSocket({ host: gateway, port: 0 }), ...sockets.inApp]
    }

    function closeFor(gateway: string) {
      for (const socket of sockets.jobs.get(gateway) ?? []) socket?.handle.close()
      sockets.jobs.delete(gateway)
      const isUnused = ({ address }: SharedSocket) => address.host === gateway
      const used = sockets.inApp.filter((socket) => !isUnused(socket))
      // Without isolation, all agents have the same.
      if (used.length === 0) return
      for (const { handle } of sockets.inApp.filter(isUnused)) handle.close()
      sockets.inApp = used
    }

    /** An agent has taken over from one that died: if its gateway is another one, the control process has to listen there. */
    function moveTo({ gateway }: AgentReady) {
      if (isOnSwarm || !running.control || sockets.inApp[0]?.address.host === gateway) return
      openFor(gateway).then(
        () => running.control?.restart(),
        (error) => log.error({ err: error }, 'apps cannot reach the service'),
      )
    }

    const inTurn = createTurns()
    /** Rejects if the new processes do not come up. */
    const reload = (next: string) => {
      const done = inTurn('reload', async () => {
        stopping.signal.throwIfAborted()
        const before = program
        program = next
        try {
          const graceMs = { drain: config.drainTimeout * 1000, control: GRACE_MS.control }
          await replace({ log, running, start, moveTo, openFor, closeFor, graceMs, stopping: stopping.signal })
          log.info({ program }, 'new processes have taken over')
        } catch (error) {
          program = before
          if (!stopping.signal.aborted)
            log.error({ err: error }, 'the new processes did not come up; the old ones go on')
          throw error
        }
      })
      reloading = done.catch(() => undefined)
      return done
    }
    // Of several on one data folder, it is the one with the control process.
    if (running.control || config.controlAddresses.length > 0)
      operators = await listenToOperators({ path: filesIn(config.dataDir).serveSocket, log, reload })
    afterStart()
    const edge = sockets.edges[0] && { edge: `http://${formatListen(sockets.edges[0].http.address)}` }
    return {
      addresses: running.control?.ready ?? { ...edge },
      reload: () => reload(program).catch(() => undefined),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The kernel cuts off the path of a Unix socket that is longer. */
const MAX_SOCKET_PATH = 107

function checkSockets(dataDir: string) {
  // A socket is made under a longer name first.
  const length = Buffer.byteLength(`${filesIn(dataDir).controlSocket}.${process.pid}`)
  if (length > MAX_SOCKET_PATH)
    throw new Refused(
      `The path of the data folder ${dataDir} is too long for the sockets in it, by ${length - MAX_SOCKET_PATH} bytes. Choose a shorter one for dataDir, such as /var/lib/headland.`,
    )
}

/** Several edges have a socket each on the same port, over which the kernel spreads connections. */
async function openSockets({
  roles,
  edges: count,
  edgeListen,
  tlsListen,
  listen,
  ...config
}: Config): Promise<Sockets> {
  const isShared = count > 1
  const edges: EdgeSockets[] = []
  if (roles.includes('edge')) {
    const http = await openSocket(edgeListen, { isShared }).catch(cannotListen('edgeListen', edgeListen))
    const tls = tlsListen && (await openSocket(tlsListen, { isShared }).catch(cannotListen('tlsListen', tlsListen)))
    edges.push({ http, tls })
    while (edges.length < count)
      edges.push({
        http: await openSocket(http.address, { isShared }),
        tls: tls && (await openSocket(tls.address, { isShared })),
      })
  }
  const api = roles.includes('control') ? await openSocket(listen).catch(cannotListen('listen', listen)) : undefined
  const { engine, inAppListen } = config
  const isForNodes = engine === 'swarm' && roles.includes('control') && inAppListen
  const inApp = isForNodes ? [await openSocket(inAppListen).catch(cannotListen('inAppListen', inAppListen))] : []
  return { edges, api, inApp, jobs: new Map() }
}

/** Where apps reach the service, if another `serve` runs the agent. Waits for it. */
async function gatewayOfAgent({ dataDir }: Config, log: Log): Promise<string> {
  const path = filesIn(dataDir).agentSocket
  const client = createAgentClient({ clock: systemClock, log, version, path, onVisited: () => undefined })
  try {
    const { network } = await client.describe()
    return 'gateway' in network ? network.gateway : '127.0.0.1'
  } finally {
    await client.stop()
  }
}
