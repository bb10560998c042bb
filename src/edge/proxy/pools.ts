/**
 * Limits the concurrent requests to each instance. A request enters, waits for a place if there is none, and leaves;
 * the number of places is bounded, and so is the number of requests that wait.
 */
import { Agent, type ClientRequestArgs } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Limits } from '../limits.ts'
import { createQuota, type Quota } from '../quota.ts'
import type { ServerTarget } from '../routes.ts'

export type Place = {
  /** The response turned out to be an endless stream: it gives its place to another request. */
  becomeStream(): void
  leave(): void
}

export type Pool = {
  agent: Agent
  /**
   * Calls back when there is a place, synchronously if there is one now; undefined when too many wait already. A request of an
   * app or a build always has one: those that hold the places may wait for it. Their number is bounded elsewhere.
   */
  enter(goOn: () => void, options?: { isFromJob: boolean }): Place | undefined
  /** For a connection that stays open; undefined when there are too many. */
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
    /** Whether the instance has got requests and is still in use. */
    isKnown: (instance: string): boolean => pools.has(instance),
    /** The instance gets no more requests: its idle connections are closed now, those in use when they are done. */
    retire(instance: string) {
      pools.get(instance)?.retire()
      pools.delete(instance)
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

function createPool(limits: Limits, allStreams: Quota, environment: string): Pool & { retire(): void } {
  const agent = new UpstreamAgent({ keepAlive: true, timeout: limits.idleUpstreamMs })
  const waiting = new Set<() => void>()
  let active = 0
  let streams = 0

  function beginStream(): boolean {
    if (streams >= limits.streamsPerInstance || !allStreams.take(environment)) return false
    streams++
    return true
  }

  function endStream() {
    streams--
    allStreams.giveBack(environment)
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
    enter(goOn, { isFromJob } = { isFromJob: false }) {
      if (isFromJob) {
        goOn()
        return { becomeStream: () => undefined, leave: () => undefined }
      }
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
      // Not `destroy`, which would abort requests in progress.
      agent.maxFreeSockets = 0
      for (const sockets of Object.values(agent.freeSockets))
        for (const socket of [...(sockets ?? [])]) socket.destroy()
    },
  }
}

class UpstreamAgent extends Agent {
  /**
   * Between two requests Node has no error listener on a connection for a moment, and an error then would end the
   * process.
   */
  override createConnection(options: ClientRequestArgs, onCreate?: (error: Error | null, stream: Socket) => void) {
    const socket = super.createConnection(options, onCreate as never)
    socket?.on('error', alreadyHandled)
    return socket
  }
}

/** The request that uses the connection has a listener of its own. */
const alreadyHandled = () => undefined
