/** Compares what should be with what the swarm has, as a pure function: the result is a list of changes for each deployment. */
import type { DesiredApp } from './desired.ts'
import type { Service, SwarmSecret, Task } from './docker/types.ts'
import { LABELS, serviceName } from './names.ts'
import { isWanted, slotsOf } from './observe.ts'

export type Change =
  /** With the secrets of its generation that are there already. */
  | { kind: 'create'; app: DesiredApp; secrets: readonly SwarmSecret[] }
  /** Another generation of the same deployment. */
  | { kind: 'replace'; app: DesiredApp; service: string; secrets: readonly SwarmSecret[] }
  | { kind: 'scale'; service: string; replicas: number }
  /** Swarm has given up, and its pause is over. */
  | { kind: 'retry'; service: string; retries: number }
  | { kind: 'remove'; service: string }
  | { kind: 'removeSecret'; secret: string }

/** The changes of one deployment, in their order: none is made before the one before it. */
export type Work = { deployment: string; changes: readonly Change[] }

export type Found = {
  cluster: string
  desired: readonly DesiredApp[]
  /** Those with the label of the cluster, and no others. */
  services: readonly Service[]
  secrets: readonly SwarmSecret[]
  tasks: readonly Task[]
  now: number
}

/** Between a start that Swarm gave up and the next one; twice as long after each. */
export const PAUSE_MS = { first: 5000, max: 240_000 }
/** A start that held for so long begins the pauses anew. */
const STABLE_MS = 600_000

export function planOf({ cluster, desired, services, secrets, tasks, now }: Found): Work[] {
  const apps = new Map(desired.map((app) => [app.deployment, app]))
  const byName = new Map(services.map((service) => [service.Spec.Name, service]))
  const byDeployment = Map.groupBy(secrets, ({ Spec }) => Spec.Labels?.[LABELS.deployment] ?? '')
  const byService = Map.groupBy(tasks, ({ ServiceID }) => ServiceID)
  const kept = new Set<Service>()
  const works = new Map<string, Change[]>()
  const add = (deployment: string, ...changes: Change[]) =>
    works.set(deployment, [...(works.get(deployment) ?? []), ...changes])

  for (const app of desired) {
    const service = byName.get(serviceName(cluster, app.deployment))
    if (service) kept.add(service)
    const ofGeneration = (byDeployment.get(app.deployment) ?? []).filter(({ Spec }) => isOf(Spec.Labels ?? {}, app))
    if (!service) add(app.deployment, { kind: 'create', app, secrets: ofGeneration })
    else if (!isOf(service.Spec.Labels, app))
      add(app.deployment, { kind: 'replace', app, service: service.ID, secrets: ofGeneration })
    else {
      const change = changeOf(app, service, { tasks: byService.get(service.ID) ?? [], now })
      if (change) add(app.deployment, change)
    }
  }
  for (const service of services)
    if (!kept.has(service))
      add(service.Spec.Labels[LABELS.deployment] ?? service.ID, { kind: 'remove', service: service.ID })
  // After the services that use them: Docker refuses to remove them before.
  for (const { ID: secret, Spec } of secrets) {
    const deployment = Spec.Labels?.[LABELS.deployment] ?? ''
    const app = apps.get(deployment)
    if (!app || !isOf(Spec.Labels ?? {}, app)) add(deployment, { kind: 'removeSecret', secret })
  }
  return [...works].map(([deployment, changes]) => ({ deployment, changes }))
}

const isOf = (labels: Readonly<Record<string, string>>, { deployment, generation }: DesiredApp): boolean =>
  labels[LABELS.deployment] === deployment && labels[LABELS.generation] === String(generation)

/** With the tasks of the service. */
function changeOf(app: DesiredApp, service: Service, at: Pick<Found, 'tasks' | 'now'>): Change | undefined {
  const replicas = service.Spec.Mode.Replicated?.Replicas
  if (replicas !== app.replicas) return { kind: 'scale', service: service.ID, replicas: app.replicas }
  const retries = retriesOf(service, at)
  return retries === undefined ? undefined : { kind: 'retry', service: service.ID, retries }
}

/** The number of the next retry in a row; undefined while Swarm itself starts instances, or while a pause is not over. */
function retriesOf(service: Service, { tasks, now }: Pick<Found, 'tasks' | 'now'>): number | undefined {
  const wanted = service.Spec.Mode.Replicated?.Replicas ?? 0
  const held = [...slotsOf(tasks).values()].filter((inSlot) => inSlot.some(isWanted)).length
  if (held >= wanted) return undefined
  const updated = Date.parse(service.UpdatedAt)
  const last = Math.max(updated, ...tasks.map(({ Status }) => Date.parse(Status.Timestamp)))
  const before = last - updated > STABLE_MS ? 0 : Number(service.Spec.Labels[LABELS.retries]) || 0
  const pause = Math.min(PAUSE_MS.first * 2 ** Math.min(before, 10), PAUSE_MS.max)
  return now - last >= pause ? before + 1 : undefined
}
