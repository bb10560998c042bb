/**
 * Which deployments have to be looked at, by their tasks and the nodes alone. The list of services repeats the whole specification
 * of each, and most apps sleep: those have no tasks.
 */
import type { SwarmNode, Task } from './docker/types.ts'
import { LABELS } from './names.ts'
import type { Seen } from './observe.ts'

type Known = { deployment: string; text: string }

export function createChangedTasks() {
  /** By service, as they were when they were reported. */
  let known = new Map<string, Known>()
  let knownNodes = ''

  return {
    /** They were reported: all of them, or those of these deployments. */
    use({ services, tasks, nodes }: Seen, scope?: readonly string[]) {
      const byService = Map.groupBy(tasks, ({ ServiceID }) => ServiceID)
      known = new Map([...known].filter(([, { deployment }]) => scope && !scope.includes(deployment)))
      for (const { ID, Spec } of services)
        known.set(ID, { deployment: Spec.Labels[LABELS.deployment] ?? '', text: textOf(byService.get(ID) ?? []) })
      if (!scope) knownNodes = nodesText(nodes)
    },

    /** The deployments whose tasks have changed since, or are not all as they should be; undefined where that is not enough. */
    in({ tasks, nodes }: Pick<Seen, 'tasks' | 'nodes'>): string[] | undefined {
      const byService = Map.groupBy(tasks, ({ ServiceID }) => ServiceID)
      if (nodesText(nodes) !== knownNodes || [...byService.keys()].some((id) => !known.has(id))) return undefined
      return [...known]
        .filter(([id, { text }]) => {
          const own = byService.get(id) ?? []
          return !own.every(isSettled) || textOf(own) !== text
        })
        .map(([, { deployment }]) => deployment)
    },
  }
}

/** Others may have to be started again after a pause. */
const isSettled = ({ DesiredState, Status }: Task): boolean => DesiredState === 'running' && Status.State === 'running'

const textOf = (tasks: readonly Task[]): string =>
  JSON.stringify(
    tasks
      .map(({ ID, NodeID, DesiredState, Status }) => [ID, NodeID, DesiredState, Status] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

const nodesText = (nodes: readonly SwarmNode[]): string =>
  JSON.stringify(
    nodes
      .map(({ ID, Spec, Status, Description }) => [ID, Spec, Status, Description.Engine.EngineVersion] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
