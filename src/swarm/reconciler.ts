/**
 * Makes a swarm what it should be, and reports what it is. A round reads everything, decides, and writes; it may die at any line,
 * and the next one, of this process or another, finds what is done already. There are no events of tasks, so what changes is
 * asked for often, all tasks every few seconds, and everything twice a minute.
 */
import type { Clock, Log } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import { createApply, WriteFenced } from './apply.ts'
import { createChangedTasks } from './changed-tasks.ts'
import type { DesiredApp, Observation } from './desired.ts'
import { type Docker, isOlder } from './docker/client.ts'
import type { SwarmNode } from './docker/types.ts'
import { LABELS, prefixOf, REGION_LABEL, serviceName } from './names.ts'
import type { Seen } from './observe.ts'
import { type Change, planOf, type Work } from './plan.ts'
import { createReports } from './reports.ts'

export type ReconcilerParts = {
  docker: Docker
  /** Several may share a swarm: each sees its own services alone. */
  cluster: string
  clock: Clock
  log: Log
  /** All of them, or of these deployments those that are wanted. */
  desired(deployments?: readonly string[]): Promise<readonly DesiredApp[]>
  /** Read when a service is made, and kept nowhere. */
  variables(app: DesiredApp): Promise<Readonly<Record<string, string>>>
  /** Where it rejects, the same is reported again. */
  observe(observation: Observation): Promise<void>
  /** Asked before each write, and before each round. */
  mayWrite(): Promise<boolean>
}

export type Round = {
  /** False where another process does the work. */
  isOurs: boolean
  changes: number
  failed: readonly { deployment: string; error: unknown }[]
}

export type Region = { region: string; nodes: number; available: number }

/** Something else than this process may have changed a service. */
const WHOLE_MS = 30_000
const TASKS_MS = 5000
const POLL_MS = 100
/** What has not settled by then is asked for with all tasks. */
const TRANSITION_MS = 60_000
/** More names than these would make the address of a request too long. */
const MAX_SCOPE = 50
const CONCURRENCY = 8
/** The first one that applies seccomp profiles and no-new-privileges to tasks; an older one ignores them. */
const MIN_ENGINE = '25.0'

/** For as long as this process does the work: afterwards another one has reported what this one does not know. */
export function createReconciler(parts: ReconcilerParts) {
  const { docker, cluster, clock, log, desired, variables, observe, mayWrite } = parts
  const apply = createApply({ docker, cluster, variables, mayWrite })
  const reports = createReports({ clock, observe })
  const changedTasks = createChangedTasks()

  async function look(scope?: readonly string[]): Promise<Seen> {
    const isInScope = (labels: Readonly<Record<string, string>> = {}) =>
      scope?.includes(labels[LABELS.deployment] ?? '') ?? true
    const names = scope?.map((deployment) => serviceName(cluster, deployment))
    const [services, tasks, nodes] = await Promise.all([
      docker.services({ label: [`${LABELS.cluster}=${cluster}`], ...(names ? { name: names } : {}) }),
      docker.tasks({ name: names ?? [prefixOf(cluster)] }),
      docker.nodes(),
    ])
    return { services: services.filter(({ Spec }) => isInScope(Spec.Labels)), tasks, nodes }
  }

  async function secretsIn(scope?: readonly string[]) {
    const names = scope?.map((deployment) => serviceName(cluster, deployment))
    const found = await docker.secrets({
      label: [`${LABELS.cluster}=${cluster}`],
      ...(names ? { name: names } : {}),
    })
    return found.filter(({ Spec }) => scope?.includes(Spec.Labels?.[LABELS.deployment] ?? '') ?? true)
  }

  /** A failing deployment does not stop the others. */
  async function make(works: readonly Work[], nodes: readonly SwarmNode[]): Promise<Pick<Round, 'changes' | 'failed'>> {
    const failed: { deployment: string; error: unknown }[] = []
    const queue = works.values()
    let changes = 0
    let fenced: WriteFenced | undefined

    async function makeOne({ deployment, changes: wanted }: Work) {
      try {
        for (const change of wanted) {
          refuseOldEngines(change, nodes)
          await apply(change)
          changes += 1
        }
      } catch (error) {
        if (error instanceof WriteFenced) fenced = error
        else {
          failed.push({ deployment, error })
          log.warn({ deployment, err: error }, 'an app of the cluster could not be changed')
        }
      }
    }
    const worker = async () => {
      for (const work of queue) if (!fenced) await makeOne(work)
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
    if (fenced) throw fenced
    return { changes, failed }
  }

  async function round(scope?: readonly string[]): Promise<Round> {
    if (!(await mayWrite())) return { isOurs: false, changes: 0, failed: [] }
    const [seen, secrets] = await Promise.all([look(scope), secretsIn(scope)])
    // Read last: a deployment that is new since then is made, and none is removed that was new.
    const apps = await desired(scope)
    const works = planOf({ cluster, desired: apps, ...seen, secrets, now: clock.now() })
    const done = await make(works, seen.nodes)
    const after = works.length > 0 ? await look(scope) : seen
    await reports.report(after, scope)
    changedTasks.use(after, scope)
    return { isOurs: true, ...done }
  }

  /** Which deployments have to be looked at; undefined for all. */
  async function lookAtTasks(): Promise<string[] | undefined> {
    const [tasks, nodes] = await Promise.all([docker.tasks({ name: [prefixOf(cluster)] }), docker.nodes()])
    return changedTasks.in({ tasks, nodes })
  }

  const hinted = new Set<string>()
  let interrupt = new AbortController()

  return {
    /** Everything, or these deployments alone. Rounds must not overlap. */
    round,

    /** Something has changed about a deployment: it is looked at now. Only while `run` does the rounds. */
    hint(deployment: string) {
      hinted.add(deployment)
      interrupt.abort()
    },

    /** Rounds without end, until the signal is aborted. */
    async run(signal: AbortSignal): Promise<void> {
      const end = () => interrupt.abort()
      signal.addEventListener('abort', end)
      let [wholeAt, tasksAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
      /** Something could not be done: everything is looked at again. */
      let isIncomplete = false
      while (!signal.aborted) {
        interrupt = new AbortController()
        const known = [...hinted, ...reports.inTransition(TRANSITION_MS)]
        hinted.clear()
        const isDue = clock.now() - tasksAt >= TASKS_MS
        if (isDue) tasksAt = clock.now()
        const isWhole = isDue && (isIncomplete || tasksAt - wholeAt >= WHOLE_MS)
        try {
          const changed = isDue && !isWhole ? await lookAtTasks() : []
          const scope = [...new Set([...known, ...(changed ?? [])])]
          if (isWhole || !changed || scope.length > MAX_SCOPE) {
            wholeAt = clock.now()
            isIncomplete = (await round()).failed.length > 0
          } else if (scope.length > 0 && (await round(scope)).failed.length > 0) isIncomplete = true
        } catch (error) {
          isIncomplete = true
          if (error instanceof WriteFenced) log.info(error.message)
          else log.warn({ err: error }, 'the swarm could not be looked at')
          await clock.sleep(1000, signal)
        }
        const isBusy = reports.inTransition(TRANSITION_MS).length > 0
        await clock.sleep(isBusy ? POLL_MS : tasksAt + TASKS_MS - clock.now(), interrupt.signal)
      }
      signal.removeEventListener('abort', end)
    },

    /** By the labels of nodes. */
    async regions(): Promise<Region[]> {
      const nodes = await docker.nodes()
      const byRegion = Map.groupBy(nodes, ({ Spec }) => Spec.Labels?.[REGION_LABEL] ?? '')
      byRegion.delete('')
      return [...byRegion]
        .map(([region, all]) => ({ region, nodes: all.length, available: all.filter(isAvailable).length }))
        .toSorted((a, b) => (a.region < b.region ? -1 : 1))
    },
  }
}

export type Reconciler = ReturnType<typeof createReconciler>

const isAvailable = ({ Status, Spec }: SwarmNode): boolean => Status.State === 'ready' && Spec.Availability === 'active'

/** An engine that does not know a restriction ignores it, so nothing is started while a node has one. */
function refuseOldEngines(change: Change, nodes: readonly SwarmNode[]) {
  const isHarmless =
    change.kind === 'remove' || change.kind === 'removeSecret' || (change.kind === 'scale' && change.replicas === 0)
  const old = nodes.find(
    ({ Spec, Description }) =>
      Spec.Labels?.[REGION_LABEL] !== undefined && isOlder(Description.Engine.EngineVersion, MIN_ENGINE),
  )
  if (isHarmless || !old) return
  const { Hostname, Engine } = old.Description
  throw new Problem(
    'ISOLATION_MISSING',
    `The node ${Hostname} has Docker ${Engine.EngineVersion}, which cannot isolate apps: Docker 25 or newer is needed on every node with a region.`,
  )
}
