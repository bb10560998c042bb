/**
 * Counts starts after crashes. Swarm keeps a crashed task or two of each place among the replicas, so they are counted as they
 * are seen; how often Swarm had given up stands in the service, and outlives the process.
 */
import type { Service, Task } from './docker/types.ts'
import type { CountRestarts } from './observe.ts'
import { RESTARTS } from './service/spec.ts'

export function createRestarts(): { count: CountRestarts; keep(services: readonly Service[]): void } {
  const places = new Map<string, Map<number, { count: number; last: Set<string> }>>()

  function count(service: Service, slot: number, crashed: readonly Task[]): number {
    const ofService = places.get(service.ID) ?? new Map()
    places.set(service.ID, ofService)
    const given = (service.Spec.TaskTemplate.ForceUpdate ?? 0) * (RESTARTS.attempts + 1)
    const known = ofService.get(slot)
    const last = new Set(crashed.map(({ ID }) => ID))
    const more = known ? crashed.filter(({ ID }) => !known.last.has(ID)).length : crashed.length
    const total = Math.max((known?.count ?? given) + more, given)
    ofService.set(slot, { count: total, last })
    return total
  }

  return {
    count,
    /** Forgets all other services. */
    keep(services) {
      const there = new Set(services.map(({ ID }) => ID))
      for (const id of places.keys()) if (!there.has(id)) places.delete(id)
    },
  }
}
