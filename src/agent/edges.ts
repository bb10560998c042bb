/**
 * The edges that follow the agent: they are sent where instances are, let requests in flight end before an instance does, and
 * report how many requests are in flight.
 */
import { type Clock, settlesWithin } from '../base/index.ts'
import type { Caller } from '../channel/index.ts'
import type { EdgeMethodsForAgent, InstanceReport } from '../edge/index.ts'
import type { Running } from '../runtime/index.ts'

/** How long requests in flight may take before their app ends. */
const DRAIN_MS = 30_000

/** How long a DNS query may wait for an edge. */
const SITE_MS = 1000

type Parts = {
  clock: Clock
  /** Behind which builds and apps have their networks; undefined where they use the machine's. */
  gateway: string | undefined
  deployments(): Iterable<string>
  instancesOf(deployment: string): Running[]
}

type Edge = {
  caller: Caller<EdgeMethodsForAgent>
  /** Requests by deployment, as it last reported them. */
  inFlight: Readonly<Record<string, number>>
}

export function createAgentEdges({ clock, gateway, deployments, instancesOf }: Parts) {
  const edges = new Set<Edge>()

  function reportOf(deployment: string): InstanceReport | null {
    const all = instancesOf(deployment)
    if (all.length === 0) return null
    const instances = all.flatMap(({ instance }) =>
      instance ? { instance: instance.id, host: instance.host, port: instance.port } : [],
    )
    if (instances.length > 0) return { state: 'running', instances }
    return { state: all.every(({ state }) => state === 'CRASH_LOOP') ? 'down' : 'asleep' }
  }

  return {
    /** Returns what it calls with each of its reports. */
    add(caller: Caller<EdgeMethodsForAgent>) {
      const edge: Edge = { caller, inFlight: {} }
      edges.add(edge)
      caller.closed.then(() => edges.delete(edge))
      const reports = Object.fromEntries([...deployments()].map((deployment) => [deployment, reportOf(deployment)]))
      caller.notify('setInstances', { reports, isWhole: true })
      if (gateway !== undefined) caller.notify('useGateway', gateway)
      return edge
    },

    changed(deployment: string) {
      for (const { caller } of edges)
        caller.notify('setInstances', { reports: { [deployment]: reportOf(deployment) }, isWhole: false })
    },

    inFlight(deployment: string): number {
      let sum = 0
      for (const edge of edges) sum += edge.inFlight[deployment] ?? 0
      return sum
    },

    /** Whether the newest edge serves a host; false where none answers in time. */
    async isSite(host: string): Promise<boolean> {
      const asked = [...edges].at(-1)?.caller.call('isSite', host)
      const answer = asked?.catch(() => false) ?? Promise.resolve(false)
      return (await settlesWithin(clock, answer, SITE_MS)) && answer
    },

    /** Resolves when no edge has a request of this instance in flight. The requests of an edge that is gone ended with it. */
    async drain(instance: string) {
      await Promise.allSettled([...edges].map(({ caller }) => caller.call('drain', { instance, graceMs: DRAIN_MS })))
    },
  }
}
