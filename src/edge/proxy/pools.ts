/**
 * The connections to each instance, and who may use one. A request enters, waits for a place if it must, and leaves; the
 * places are bounded, and so are those that wait.
 */
import { Agent, type ClientRequestArgs } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Limits } from '../limits.ts'
import { createQuota, type Quota } from '../quota.ts'
import type { ServerTarget } from '../routes.ts'

export type Place = {
  /** The response turned out to be a stream without an end: it gives its place to another. */
  becomeStream(): void
  leave(): void
}

export type Pool = {
  agent: Agent
  /** Calls back when there is a place, at once if there is; undefined when too many wait already. */
  enter(goOn: () => void): Place | undefined
  /** A connection that lives on by itself; undefined when there are too many. */
  enterStream(): { leave(): void } | undefined
}

export function createPools(limits: Limits) {
  const pools = new Map<string, Pool & { retire(): void }>()
  const streams = createQuota({
    max: limits.streams,
    maxPerOwner: limits.streams,
    reserved: limits.streamsReserved,
  })

  return {
    of({ instance, environment }: ServerTarget): Pool {
      const pool = pools.get(instance) ?? createPool(limits, streams, environment)
      pools.set(instance, pool)
      return pool
    },
    /** Whether it has been asked, and still gets requests. */
    isKnown: (instance: string): boolean => pools.has(instance),
    /** Others get no more requests: their idle connections are closed, those in use when they are done. */
    keepOnly(instances: ReadonlySet<string>) {
      for (const [instance, pool] of pools) {
        if (instances.has(instance)) continue
        pool.retire()
        pools.delete(instance)
      }
    },
  }
}

export type Pools = ReturnType<typeof createPools>

/** A connection outside of the pool. */
export function connectTo({ host, port }: ServerTarget): Socket {
  const socket = connect({ host, port, noDelay: true })
  socket.on('error', alreadyHandled)
  return socket
}

function createPool(limits: Limits, ofAll: Quota, environment: string): Pool & { retire(): void } {
  const agent = new UpstreamAgent({ keepAlive: true, timeout: limits.idleUpstreamMs })
  const waiting = new Set<() => void>()
  let active = 0
  let streams = 0

  function beginStream(): boolean {
    if (streams >= limits.streamsPerInstance || !ofAll.take(environment)) return false
    streams++
    return true
  }

  function endStream() {
    streams--
    ofAll.giveBack(environment)
  }

  function freePlace() {
    active--
    for (const goOn of waiting) {
      waiting.delete(goOn)
      goOn()
      return
    }
  }

  return {
    agent,
    enter(goOn) {
      if (active >= limits.requestsPerInstance && waiting.size >= limits.waitingPerInstance) return undefined
      let role: 'waiting' | 'active' | 'stream' | 'gone' = 'waiting'
      function start() {
        role = 'active'
        active++
        goOn()
      }
      if (active < limits.requestsPerInstance) start()
      else waiting.add(start)

      return {
        becomeStream() {
          if (role !== 'active' || !beginStream()) return
          role = 'stream'
          freePlace()
        },
        leave() {
          if (role === 'waiting') waiting.delete(start)
          if (role === 'stream') endStream()
          if (role === 'active') freePlace()
          role = 'gone'
        },
      }
    },
    enterStream() {
      return beginStream() ? { leave: endStream } : undefined
    },
    retire() {
      // Not `destroy`, which would break off what is under way.
      agent.maxFreeSockets = 0
      for (const sockets of Object.values(agent.freeSockets))
        for (const socket of [...(sockets ?? [])]) socket.destroy()
    },
  }
}

class UpstreamAgent extends Agent {
  /** For a moment between two requests Node listens to no error of a connection, and one then would end the process. */
  override createConnection(options: ClientRequestArgs, onCreate?: (error: Error | null, stream: Socket) => void) {
    const socket = super.createConnection(options, onCreate as never)
    socket?.on('error', alreadyHandled)
    return socket
  }
}

/** Whoever uses the connection is told by its own listener. */
const alreadyHandled = () => undefined
