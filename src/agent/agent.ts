/**
 * The agent holds what runs on this machine: apps, and jobs of builds. It serves control processes and edges over a Unix socket
 * and needs neither: apps go on, sleep and wake while the control process is away.
 */
import { type Clock, type Log, processName } from '../base/index.ts'
import { type CallPeer, createCaller, type Frame, type Greeting, listenToPeers, PROTOCOL } from '../channel/index.ts'
import { SENT_PROBLEMS } from '../contract/index.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent } from '../edge/index.ts'
import type { Engine, Networks } from '../engines/index.ts'
import {
  type AppOutput,
  type AwakeLimits,
  createSupervisor,
  deploymentOf,
  type FrozenLimits,
} from '../runtime/index.ts'
import type { LineLogs } from '../storage/index.ts'
import { createApps, type Session } from './apps.ts'
import { createControls } from './controls.ts'
import { createAgentEdges } from './edges.ts'
import { watchIdle } from './idle.ts'
import { createJobs } from './jobs.ts'
import type { AgentMethods, ControlMethods, MachineDescription, Output } from './messages.ts'
import { createOutputWindow } from './output-window.ts'
import { connectToPredecessor } from './predecessor.ts'
import { serveSuccessor } from './successor.ts'

type Parts = {
  clock: Clock
  log: Log
  version: string
  /** The socket to listen on. */
  path: string
  engine: Engine
  networks: Networks | undefined
  logs: LineLogs
  description: MachineDescription
  startDeadlineMs: number
  idleMs: number
  awakeLimits: AwakeLimits
  frozenLimits: FrozenLimits
  /** It takes the place of the agent that listens on the socket now. */
  isSuccessor?: boolean
}

export async function startAgent(parts: Parts) {
  const { clock, log, version, path, engine, networks, logs, description, startDeadlineMs, idleMs } = parts
  const { awakeLimits, frozenLimits } = parts
  const greeting: Greeting = { protocol: PROTOCOL, role: 'agent', process: processName(), version }
  const peers = new Set<CallPeer>()
  const replaced = Promise.withResolvers<void>()
  const supervisor = createSupervisor({ engine, networks, clock, log, startDeadlineMs, awakeLimits, frozenLimits })
  const instancesOf = (deployment: string) => apps.instancesOf(deployment)
  const deployments = () => new Set(supervisor.all().map(deploymentOf))
  const edges = createAgentEdges({ clock, gateway: networks?.gateway, deployments, instancesOf })
  const controls = createControls({ clock, supervisor, instancesOf })
  const apps = createApps({
    clock,
    log,
    supervisor,
    logs,
    toolsOf: (deployment) => controls.toolsOf(deployment, startDeadlineMs),
    onReset: controls.reset,
    drain: edges.drain,
    inFlight: edges.inFlight,
  })
  supervisor.drainBy(edges.drain)
  /** Edges follow the agent that has taken the place of this one, if there is one. */
  let isSite = edges.isSite
  networks?.findSites((host) => isSite(host))
  supervisor.onChange((key) => {
    edges.changed(deploymentOf(key))
    controls.changed(deploymentOf(key))
  })

  function serveEdge(peer: CallPeer) {
    const methods: AgentMethodsForEdge = {
      wake: (deployment) => supervisor.wake(deployment),
      activity(deployments) {
        for (const deployment of Object.keys(deployments)) supervisor.visited(deployment)
        controls.visited(Object.keys(deployments))
      },
      load(deployments) {
        edge.inFlight = deployments
      },
      async listensToJobs({ gateway, port }) {
        if (networks?.gateway === gateway) await networks.openEdge(port)
      },
      loopDetected: apps.loopDetected,
      isThere: () => true,
    }
    const edge = edges.add(createCaller<EdgeMethodsForAgent>(peer, methods, SENT_PROBLEMS))
  }

  function serveControl(peer: CallPeer) {
    const output = (sent: Output): Promise<void> => control.call('output', sent)
    const jobs = createJobs({ engine, networks, output })
    const session: Session = { isOpen: true }
    const methods: AgentMethods = { describe: () => description, ...jobs.methods, ...appMethods(session, output) }
    const control = createCaller<ControlMethods>(peer, methods, SENT_PROBLEMS)
    controls.add(control)
    control.closed
      .then(() => {
        session.isOpen = false
        return jobs.end()
      })
      .catch((error) => log.error({ err: error }, 'jobs of a control process that is gone could not be ended'))
  }

  const appMethods = (session: Session, output: (sent: Output) => Promise<void>): AppMethods => ({
    startApp({ app, output: id }, signal) {
      const write = createOutputWindow(output)
      const onOutput: AppOutput | undefined =
        id === null ? undefined : (stream, chunk) => write({ id, stream, chunk: chunk.toString('base64') })
      return apps.start(app, { signal, session, onOutput })
    },
    carryApp: ({ from, app }, signal) => apps.carry(from, app, signal),
    adoptApps: apps.adopt,
    keepApps: (deployments) => apps.keep(deployments, session),
    warmUpApp: (deployment) => supervisor.warmUp(deployment),
    setScaling: ({ deployment, scaling }) => apps.setScaling(deployment, scaling),
    setExpiries: ({ environment, texts }) => apps.setExpiries(environment, texts),
    retireApp: ({ deployment, isDrained }) => apps.retire(deployment, isDrained),
    sayInLog: ({ log: into, phase, text }) => apps.say(into, phase, text),
    awakeApps: (account) => supervisor.awake(account),
  })

  function serve(peer: CallPeer) {
    if (peer.greeting.role === 'agent') {
      const successor = serveSuccessor(peer, { apps: { handOver }, release, onEmpty: replaced.resolve })
      isSite = successor.isSite
      return
    }
    peers.add(peer)
    peer.closed.then(() => peers.delete(peer))
    if (peer.greeting.role === 'edge') serveEdge(peer)
    else serveControl(peer)
  }

  const handOver: typeof apps.handOver = async (to) => {
    await idle.stop()
    return apps.handOver(to)
  }

  function release() {
    for (const peer of peers) peer.close()
  }

  const predecessor = parts.isSuccessor ? await connectToPredecessor(path, greeting, edges) : undefined
  if (predecessor) await apps.takeOver(await predecessor.handOver(), predecessor)
  const socket = await listenToPeers<Frame, Frame>({
    address: path,
    greeting,
    onPeer: serve,
    onRefused: (error) => log.warn({ err: error }, 'a process could not connect to the agent'),
  })
  const idle = watchIdle({ clock, log, supervisor, isKeptAwake: apps.isKeptAwake, idleMs })

  predecessor?.release()

  return {
    /** Another agent has taken over, and the last process that stayed here has ended. */
    replaced: replaced.promise,
    /** Ends all apps and jobs. */
    async stop(graceMs: number) {
      await Promise.all([idle.stop(), apps.stop()])
      await supervisor.stop(graceMs)
      await socket.close()
    },
  }
}

export type Agent = Awaited<ReturnType<typeof startAgent>>

type AppMethods = Omit<AgentMethods, 'describe' | keyof ReturnType<typeof createJobs>['methods']>
