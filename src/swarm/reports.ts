/** Which instances were reported, so that only changes are; and which deployments have not settled. */
import type { Clock } from '../base/index.ts'
import type { Observation, ObservedInstance } from './desired.ts'
import { LABELS } from './names.ts'
import { observedOf, type Seen } from './observe.ts'
import { createRestarts } from './restarts.ts'

type Parts = { clock: Clock; observe(observation: Observation): Promise<void> }

export function createReports({ clock, observe }: Parts) {
  const restarts = createRestarts()
  /** By instance, as text. */
  let reported = new Map<string, { deployment: string; text: string }>()
  const unsettledSince = new Map<string, number>()
  let isFirst = true

  return {
    async report(seen: Seen, scope?: readonly string[]): Promise<void> {
      const rows = observedOf(seen, restarts.count)
      if (!scope) restarts.keep(seen.services)
      follow(seen, rows, scope)
      const isWhole = isFirst && !scope
      const next = new Map([...reported].filter(([, { deployment }]) => scope && !scope.includes(deployment)))
      const changed = rows.filter((row) => {
        const text = JSON.stringify(row)
        next.set(row.instance, { deployment: row.deployment, text })
        // Single deployments may have been reported before the first look at everything succeeded.
        return isWhole || reported.get(row.instance)?.text !== text
      })
      const gone = [...reported]
        .filter(([instance]) => !next.has(instance))
        .map(([instance, { deployment }]) => ({ deployment, instance }))
      if (changed.length === 0 && gone.length === 0 && !isWhole) return
      await observe({ changed, gone, isWhole })
      reported = next
      if (isWhole) isFirst = false
    },

    /** Deployments that have not settled, and began to change within this time. */
    inTransition(maxMs: number): string[] {
      const earliest = clock.now() - maxMs
      return [...unsettledSince].filter(([, since]) => since > earliest).map(([deployment]) => deployment)
    },
  }

  function follow({ services }: Seen, rows: readonly ObservedInstance[], scope?: readonly string[]) {
    const unsettled = new Set<string>()
    const byDeployment = Map.groupBy(rows, ({ deployment }) => deployment)
    for (const { Spec } of services) {
      const deployment = Spec.Labels[LABELS.deployment] ?? ''
      const own = byDeployment.get(deployment) ?? []
      const running = own.filter(({ state }) => state === 'RUNNING').length
      const isLeaving = own.some(({ state, reason }) => state === 'STOPPED' && reason !== 'NODE_AWAY')
      if (running !== (Spec.Mode.Replicated?.Replicas ?? 0) || isLeaving) unsettled.add(deployment)
    }
    for (const deployment of unsettledSince.keys())
      if (!unsettled.has(deployment) && (scope?.includes(deployment) ?? true)) unsettledSince.delete(deployment)
    for (const deployment of unsettled) if (!unsettledSince.has(deployment)) unsettledSince.set(deployment, clock.now())
  }
}
