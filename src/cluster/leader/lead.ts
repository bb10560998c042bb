/**
 * What one process does for all apps of the cluster: the reconciler that makes the scheduler follow the rows, questions whether
 * instances answer, apps that fall asleep, and those that end. Everything that it writes is fenced by its term.
 */
import { type Clock, type Log, type Repetition, repeat } from '../../base/index.ts'
import { type Answer, APP_LINES, type Asked, type ScalePace } from '../../runtime/index.ts'
import { LeadershipLost, type LeaderWork, type LineLogs, type Sql, type Term, type Vault } from '../../storage/index.ts'
import { createReconciler, type Docker, LABELS } from '../../swarm/index.ts'
import type { AppLines } from '../app-lines.ts'
import { openSecrets } from '../app-record.ts'
import type { AppRecords } from '../records.ts'
import type { AppRow } from '../rows.ts'
import type { AwakeSlots } from '../slots.ts'
import type { View } from '../view.ts'
import type { Wakes } from '../wakes.ts'
import { createDesired } from './desired.ts'
import { createDrains } from './drains.ts'
import { watchHealth } from './health.ts'
import { createLeftovers } from './leftovers.ts'
import { createObserve } from './observe.ts'
import { followOutputs } from './outputs.ts'
import { createScaling } from './scaling.ts'

export type LeadParts = {
  sql: Sql
  clock: Clock
  log: Log
  vault: Vault
  records: AppRecords
  view: View
  wakes: Wakes
  slots: AwakeSlots
  lines: AppLines
  logs: Pick<LineLogs, 'create'>
  ask(asked: Asked, signal: AbortSignal): Promise<Answer>
  startDeadlineMs: number
  idleMs: number
  /** How soon the number of instances follows the load; as on one machine where it is not given. */
  scalePace?: ScalePace | undefined
  /** Which of these deployments are live. */
  liveOf?: ((deployments: readonly string[]) => Promise<ReadonlySet<string>>) | undefined
}

export type LeadOptions = {
  docker: Docker
  /** Names the services of this cluster in the swarm. */
  cluster: string
}

const DRAIN_LOOK_MS = 500
const SCALE_LOOK_MS = 1000
const IDLE_LOOK_MS = 5000
/** Between attempts to wake an app that must not sleep. */
const KEEP_AWAKE_MS = 30_000
const TRIM_MS = 600_000
const LEFTOVERS_MS = 60_000
/** What is gone stays on record for so long. */
const GONE_MS = 24 * 60 * 60_000

export function createLead(parts: LeadParts) {
  const { sql, clock, log, vault, records, view, lines, logs, ask, startDeadlineMs } = parts

  return ({ docker, cluster }: LeadOptions): LeaderWork =>
    (term) => {
      const stopping = new AbortController()
      const over = AbortSignal.any([stopping.signal, term.signal])
      const reconciler = createReconciler({
        docker,
        cluster,
        clock,
        log,
        desired: createDesired({
          log,
          sql,
          records,
          term,
          countServices: async () => (await docker.services({ label: [`${LABELS.cluster}=${cluster}`] })).length,
        }),
        async variables({ deployment }) {
          const sealed = await records.recordOf(deployment)
          if (!sealed) throw new Error('the app is not on record any more')
          return openSecrets(vault, deployment, sealed).variables
        },
        observe: createObserve({ clock, records, lines, term }),
        mayWrite: async () => !term.isOver() && !stopping.signal.aborted,
      })
      const hints = hintOfChanges(view, reconciler.hint)
      const running = reconciler.run(over)
      const health = watchHealth({ clock, log, records, view, term, ask, answerMs: startDeadlineMs })
      const outputs = followOutputs({ clock, log, docker, vault, records, view, logs, term })
      const repeated = watchRows({ ...parts, term }, over)
      return {
        async stop() {
          stopping.abort()
          hints()
          await Promise.all([running, health.stop(), outputs.stop(), ...repeated.map(({ stop }) => stop())])
        },
      }
    }
}

/** What the scheduler has to do about an app, as text. */
const wantedOf = ({ generation, replicas, kept, isRetired }: AppRow): string =>
  `${generation} ${Math.max(replicas, kept)} ${isRetired}`

/** Looks at a deployment at once when something else is wanted of it. */
function hintOfChanges(view: View, hint: (deployment: string) => void): () => void {
  const wanted = new Map([...view.apps()].map((app) => [app.deployment, wantedOf(app)]))
  return view.onChange((deployments) => {
    for (const deployment of deployments) {
      const { app } = view.of(deployment)
      if (!app) wanted.delete(deployment)
      else if (wanted.get(deployment) !== wantedOf(app)) {
        wanted.set(deployment, wantedOf(app))
        hint(deployment)
      }
    }
  })
}

function watchRows(parts: LeadParts & { term: Term }, over: AbortSignal) {
  const { clock, log, records, view, wakes, slots, lines, term, idleMs, scalePace, liveOf } = parts
  const drains = createDrains()
  const triedAt = new Map<string, number>()

  /** One that was retired and has no instance any more is gone. */
  async function endDrained() {
    const done = drains.look(await records.busyOnes())
    if (done.length > 0) await records.change((change) => records.setDrained(change, done), term)
    if (await records.hasEnding()) await records.change((change) => records.setGone(change), term)
  }

  async function sleepIdle() {
    const unvisitedSince = clock.now() - idleMs
    for (const { deployment, scaling } of await records.unvisitedSince(unvisitedSince)) {
      if (scaling.minInstances > 0) continue
      const isAsleep = await records.change((change) => records.setAsleep(change, deployment, unvisitedSince), term)
      if (isAsleep) await lines.sayOf(deployment, 'ASLEEP', APP_LINES.idle)
    }
    await slots.sleepExcess(term)
  }

  async function keepAwake() {
    const now = clock.now()
    for (const { deployment, scaling, replicas, isRetired } of view.apps()) {
      if (scaling.minInstances === 0 || replicas > 0 || isRetired) triedAt.delete(deployment)
      else if (now - (triedAt.get(deployment) ?? Number.NEGATIVE_INFINITY) >= KEEP_AWAKE_MS) {
        triedAt.set(deployment, now)
        void wakes.wake(deployment, { mayDisplace: false })
      }
    }
  }

  const scale = createScaling({ records, view, slots, lines, term, pace: scalePace })
  const endLeftovers = createLeftovers({ clock, records, liveOf, term })
  const trim = () => records.change((change) => records.removeGone(change, clock.now() - GONE_MS), term)

  /** A fault of one round is not one of the next. */
  const safely = (work: () => Promise<void>) => () =>
    work().catch((error) => {
      if (!(error instanceof LeadershipLost) && !over.aborted)
        log.error({ err: error }, 'the leader could not look after the apps of the cluster')
    })

  const idleLookMs = Math.min(IDLE_LOOK_MS, idleMs / 2)
  return [
    repeat(clock, DRAIN_LOOK_MS, safely(endDrained)),
    repeat(clock, idleLookMs, safely(sleepIdle)),
    repeat(clock, SCALE_LOOK_MS, safely(scale)),
    repeat(clock, IDLE_LOOK_MS, safely(keepAwake), { isImmediate: true }),
    repeat(clock, TRIM_MS, safely(trim)),
    repeat(clock, LEFTOVERS_MS, safely(endLeftovers), { isImmediate: true }),
  ] satisfies Repetition[]
}
