/**
 * The requests in progress at each instance, including upgraded connections. Draining waits for them, and activity
 * reports count them.
 */
import type { ServerTarget } from '../routes.ts'

/** A response or a connection, which can be aborted. */
export type Flight = { destroy(): unknown }

type Instance = {
  deployment: string
  /** Each with the number of reports before it began. */
  flights: Map<Flight, number>
  beganSinceReport: number
  drains: Set<() => void>
}

export function createInFlight() {
  const instances = new Map<string, Instance>()
  let report = 0
  let turn = 0

  function end(name: string, flight: Flight) {
    const instance = instances.get(name)
    if (!instance?.flights.delete(flight) || instance.flights.size > 0) return
    for (const drained of instance.drains) drained()
    instance.drains.clear()
    if (instance.beganSinceReport === 0) instances.delete(name)
  }

  return {
    begin({ instance: name, deployment }: ServerTarget, flight: Flight) {
      const known = instances.get(name) ?? { deployment, flights: new Map(), beganSinceReport: 0, drains: new Set() }
      instances.set(name, known)
      known.flights.set(flight, report)
      known.beganSinceReport++
    },
    end: ({ instance }: ServerTarget, flight: Flight) => end(instance, flight),

    /** The instance with the fewest requests in flight. Of several, each in turn, so that all of them are warm. */
    leastBusy(peers: readonly ServerTarget[]): ServerTarget | undefined {
      turn = (turn + 1) % peers.length
      let [chosen, fewest] = [peers[turn], Number.POSITIVE_INFINITY]
      for (let at = 0; at < peers.length; at++) {
        const peer = peers[(turn + at) % peers.length] as ServerTarget
        const count = instances.get(peer.instance)?.flights.size ?? 0
        if (count < fewest) [chosen, fewest] = [peer, count]
      }
      return chosen
    },

    /** Requests in flight now at these instances together. */
    countOf: (peers: readonly ServerTarget[]): number =>
      peers.reduce((sum, { instance }) => sum + (instances.get(instance)?.flights.size ?? 0), 0),

    /** Requests in flight now, by deployment. */
    load(): Record<string, number> {
      const load: Record<string, number> = {}
      for (const { deployment, flights } of instances.values())
        if (flights.size > 0) load[deployment] = (load[deployment] ?? 0) + flights.size
      return load
    },

    /** Resolves when nothing is in flight at the instance; after the time, the remaining requests are aborted. */
    drain(name: string, graceMs: number): Promise<void> {
      const instance = instances.get(name)
      if (!instance || instance.flights.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const timeout = setTimeout(() => {
          for (const flight of [...instance.flights.keys()]) {
            end(name, flight)
            flight.destroy()
          }
        }, graceMs)
        instance.drains.add(() => {
          clearTimeout(timeout)
          resolve()
        })
      })
    },

    /** Requests by deployment since the last call; one that began earlier and is still in progress counts again. */
    takeActivity(): Record<string, number> | undefined {
      const counts = new Map<string, number>()
      for (const [name, { deployment, flights, beganSinceReport }] of instances) {
        let count = beganSinceReport
        for (const began of flights.values()) if (began < report) count++
        counts.set(deployment, (counts.get(deployment) ?? 0) + count)
        if (flights.size === 0) instances.delete(name)
      }
      for (const instance of instances.values()) instance.beganSinceReport = 0
      report++
      return counts.size > 0 ? Object.fromEntries(counts) : undefined
    },
  }
}

export type InFlight = ReturnType<typeof createInFlight>
