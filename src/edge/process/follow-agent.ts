/**
 * An edge's side of its connection to the agent: where instances are comes in, visitors of sleeping apps are announced. Where apps
 * are on other machines, a control process takes the agent's part; they go on without it, and so does the edge.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Caller,
  createCaller,
  type Frame,
  followPeer,
  type Greeting,
  type PeerAddress,
} from '../../channel/index.ts'
import { doing } from '../../watchdog/index.ts'
import type { RouteTable } from '../route-table.ts'
import type { EdgeServer } from '../server.ts'
import { createJobSockets, type JobSocketSource } from './job-sockets.ts'
import { ADDRESSES_MS, type Lease, RENEW_MS } from './lease.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent } from './messages.ts'

type Parts = {
  addresses: readonly PeerAddress[]
  /** Instances do not end with the process that reports them. */
  isElsewhere: boolean
  greeting: Greeting
  edge: Pick<EdgeServer, 'changeRoutes' | 'drain' | 'isSite' | 'listenToJobs'>
  table: RouteTable
  /** Of the addresses of instances on other machines. */
  lease: Lease
  addressesMs?: number
  /** How this edge gets the sockets for builds and apps; without it, they do not reach it. */
  jobSockets?: JobSocketSource | undefined
  /** Whether a process of this machine is gone; true only when it is certain. */
  isGone(process: string): boolean
}

/** The connection to a process that dies may close a moment before the process is gone. */
const GONE = { pauseMs: 50, attempts: 100 }

export function followAgent(parts: Parts) {
  const { addresses, isElsewhere, greeting, edge, table, lease, addressesMs = ADDRESSES_MS, jobSockets, isGone } = parts
  let agent: Caller<AgentMethodsForEdge> | undefined
  /** What the agent has reported as running, by deployment. */
  const running = new Map<string, readonly string[]>()

  const forJobs =
    jobSockets &&
    createJobSockets({
      edge,
      source: jobSockets,
      announce: (listening) => agent?.notify('listensToJobs', listening),
    })

  const methods: EdgeMethodsForAgent = {
    setInstances({ reports, isWhole }) {
      doing('instances')
      if (isWhole) forgetInstances()
      for (const [deployment, report] of Object.entries(reports)) {
        edge.changeRoutes(table.setInstance(deployment, report ?? undefined))
        if (report?.state === 'running')
          running.set(
            deployment,
            report.instances.map(({ instance }) => instance),
          )
        else running.delete(deployment)
      }
    },
    drain: ({ instance, graceMs }) => edge.drain(instance, graceMs),
    useGateway: (gateway) => forJobs?.useGateway(gateway),
    isSite: edge.isSite,
  }

  function forgetInstances() {
    running.clear()
    edge.changeRoutes(table.forgetInstances())
  }

  /**
   * The network of an instance goes with its agent, without a word to the other end of its connections: their requests would
   * wait until their time is over. The instances of an agent that was replaced go on.
   */
  async function abortRequests(instances: readonly string[], agentProcess: string) {
    for (let attempt = 0; attempt < GONE.attempts; attempt++) {
      if (isGone(agentProcess)) {
        await Promise.all(instances.map((instance) => edge.drain(instance, 0)))
        return
      }
      await sleep(GONE.pauseMs, undefined, { ref: false })
    }
  }

  /** Requests that wait for an instance go on with the first answer. */
  async function renew(connection: Caller<AgentMethodsForEdge>) {
    const sentTime = lease.now()
    if (!(await connection.call('isThere', null).catch(() => false))) return
    const wasCurrent = lease.isCurrent()
    lease.renewed(sentTime, addressesMs)
    if (!wasCurrent && lease.isCurrent()) edge.changeRoutes(table.repeatInstances())
  }

  const following = followPeer<Frame, Frame>({
    addresses,
    greeting: isElsewhere ? { ...greeting, topic: 'instances' } : greeting,
    async onPeer(peer) {
      const opened = createCaller<AgentMethodsForEdge>(peer, methods)
      agent = opened
      if (isElsewhere) void renew(opened)
      const renewals = isElsewhere ? setInterval(() => void renew(opened), RENEW_MS) : undefined
      await opened.closed
      clearInterval(renewals)
      if (agent !== opened) return
      agent = undefined
      if (isElsewhere) return
      const lost = [...running.values()].flat()
      // Requests wait until the next agent has reported.
      forgetInstances()
      await abortRequests(lost, peer.greeting.process)
    },
  })

  return {
    notify: ((method, argument) => agent?.notify(method, argument)) as Caller<AgentMethodsForEdge>['notify'],
    stop: following.stop,
  }
}
