/** An edge's side of its connection to the agent: where instances are comes in, visitors of sleeping apps are announced. */
import { type Caller, createCaller, type Frame, followPeer, type Greeting } from '../../channel/index.ts'
import { doing } from '../../watchdog/index.ts'
import type { RouteTable } from '../route-table.ts'
import type { EdgeServer } from '../server.ts'
import { createJobSockets, type JobSocketSource } from './job-sockets.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent } from './messages.ts'

type Parts = {
  path: string
  greeting: Greeting
  edge: Pick<EdgeServer, 'changeRoutes' | 'drain' | 'isSite' | 'listenToJobs'>
  table: RouteTable
  /** How this edge gets the sockets for builds and apps; without it, they do not reach it. */
  jobSockets?: JobSocketSource | undefined
}

export function followAgent({ path, greeting, edge, table, jobSockets }: Parts) {
  let agent: Caller<AgentMethodsForEdge> | undefined

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
      if (isWhole) edge.changeRoutes(table.forgetInstances())
      for (const [deployment, report] of Object.entries(reports))
        edge.changeRoutes(table.setInstance(deployment, report ?? undefined))
    },
    drain: ({ instance, graceMs }) => edge.drain(instance, graceMs),
    useGateway: (gateway) => forJobs?.useGateway(gateway),
    isSite: edge.isSite,
  }

  const following = followPeer<Frame, Frame>({
    addresses: [path],
    greeting,
    async onPeer(peer) {
      const opened = createCaller<AgentMethodsForEdge>(peer, methods)
      agent = opened
      await opened.closed
      if (agent !== opened) return
      agent = undefined
      // Its instances ended with it. Requests wait until the next agent has reported.
      edge.changeRoutes(table.forgetInstances())
    },
  })

  return {
    notify: ((method, argument) => agent?.notify(method, argument)) as Caller<AgentMethodsForEdge>['notify'],
    stop: following.stop,
  }
}
