/** What the tasks of a swarm say about the instances of apps, as a pure function. */
import type { InstanceReason, InstanceState, ObservedInstance } from './desired.ts'
import type { Service, SwarmNode, Task } from './docker/types.ts'
import { LABELS, REGION_LABEL } from './names.ts'

/** Of Docker's words. */
const MAX_MESSAGE = 500

const ENDED = new Set(['complete', 'failed', 'rejected', 'shutdown', 'remove', 'orphaned'])
const CRASHED = new Set(['complete', 'failed', 'rejected'])
const WANTED = new Set(['new', 'pending', 'assigned', 'accepted', 'preparing', 'ready', 'starting', 'running'])

export const isWanted = ({ DesiredState }: Task): boolean => WANTED.has(DesiredState)
/** One that is to be removed has not: it ends because it should. */
export const hasCrashed = ({ Status, DesiredState }: Task): boolean =>
  CRASHED.has(Status.State) && DesiredState !== 'remove'

export type Seen = { services: readonly Service[]; tasks: readonly Task[]; nodes: readonly SwarmNode[] }

/** How often the instance of a place among the replicas was started before. */
export type CountRestarts = (service: Service, slot: number, crashed: readonly Task[]) => number

export function observedOf({ services, tasks, nodes }: Seen, countRestarts: CountRestarts): ObservedInstance[] {
  const nodeById = new Map(nodes.map((node) => [node.ID, node]))
  const regions = regionsOf(nodes)
  const byService = Map.groupBy(tasks, ({ ServiceID }) => ServiceID)
  return services.flatMap((service) =>
    [...slotsOf(byService.get(service.ID) ?? [])].flatMap(([slot, inSlot]) => {
      const restarts = countRestarts(service, slot, inSlot.filter(hasCrashed))
      return shownOf(inSlot).map((task) => toInstance(service, task, { nodeById, regions, restarts }))
    }),
  )
}

/** The newest first. */
export function slotsOf(tasks: readonly Task[]): Map<number, Task[]> {
  const newest = tasks.toSorted((a, b) => (a.CreatedAt < b.CreatedAt ? 1 : -1))
  return Map.groupBy(newest, ({ Slot = 0 }) => Slot)
}

/** By the labels of nodes, whether or not they are there now. */
export const regionsOf = (nodes: readonly SwarmNode[]): Set<string> =>
  new Set(nodes.flatMap(({ Spec }) => Spec.Labels?.[REGION_LABEL] ?? []))

/** All that run or should, and the last one that crashed, which says why. */
function shownOf(tasks: readonly Task[]): Task[] {
  const last = tasks.find(hasCrashed)
  return tasks.filter((task) => task === last || (!ENDED.has(task.Status.State) && task.DesiredState !== 'remove'))
}

type Around = { nodeById: ReadonlyMap<string, SwarmNode>; regions: ReadonlySet<string>; restarts: number }

function toInstance(service: Service, task: Task, { nodeById, regions, restarts }: Around): ObservedInstance {
  const { Status: status, NodeID: nodeId } = task
  const node = nodeId ? nodeById.get(nodeId) : undefined
  const region = service.Spec.Labels[LABELS.region] ?? ''
  const isAway = node !== undefined && node.Status.State !== 'ready'
  const port = status.PortStatus?.Ports?.[0]?.PublishedPort
  const state = stateOf(task, isAway, port !== undefined)
  return {
    deployment: service.Spec.Labels[LABELS.deployment] ?? '',
    instance: task.ID,
    node: nodeId || undefined,
    address: node && addressOf(node),
    port,
    state,
    exitCode: state === 'CRASHED' ? status.ContainerStatus?.ExitCode : undefined,
    reason: reasonOf(task, isAway, regions.has(region)),
    message: (status.Err ?? '').slice(0, MAX_MESSAGE),
    restarts,
  }
}

function stateOf(task: Task, isAway: boolean, hasPort: boolean): InstanceState {
  if (hasCrashed(task)) return 'CRASHED'
  if (isAway || ENDED.has(task.Status.State) || !isWanted(task)) return 'STOPPED'
  return task.Status.State === 'running' && hasPort ? 'RUNNING' : 'STARTING'
}

function reasonOf(
  { Status: { State, Err = '' } }: Task,
  isAway: boolean,
  isRegion: boolean,
): InstanceReason | undefined {
  if (isAway) return 'NODE_AWAY'
  if (State === 'pending' && /no suitable node/i.test(Err)) return isRegion ? 'NO_NODE' : 'REGION_MISSING'
  if (State === 'rejected' && /no such image|manifest unknown|pull access denied|not found/i.test(Err))
    return 'IMAGE_MISSING'
  return undefined
}

/** A manager that was not told an address of its own has none in its status. */
function addressOf({ Status, ManagerStatus }: SwarmNode): string | undefined {
  const known = Status.Addr
  if (known && known !== '0.0.0.0' && known !== '::') return known
  return ManagerStatus?.Addr.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}
