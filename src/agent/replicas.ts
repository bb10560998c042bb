/**
 * The instances of an app beside the first one. They come and go with its load, and only while the first is awake: one that
 * cannot get memory is given up, and tried again when the app has been busy for a while.
 */
import { join } from 'node:path'
import { type Clock, type Log, removeTree, repeat } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import {
  APP_LINES,
  type InstanceSpec,
  keyOf,
  nextCount,
  type Running,
  type Supervisor,
  type Trend,
  trendOf,
} from '../runtime/index.ts'

type Parts = {
  clock: Clock
  log: Log
  supervisor: Supervisor
  /** As the first instance of the deployment is started. */
  specOf(deployment: string): Promise<InstanceSpec | undefined>
  /** The requests that edges have in flight to the deployment. */
  inFlight(deployment: string): number
  /** Lets the requests in flight to an instance end at every edge. */
  drain(instance: string): Promise<void>
  /** What the machine can still give to programs. */
  availableBytes?(): number
}

type App = {
  scaling: resources.Scaling
  /** Of the instances beside the first. */
  ordinals: Set<number>
  trend: Trend
  isChanging: boolean
  /** A start that failed is not repeated before. */
  pauseUntil: number
}

const LOOK_MS = 1000
/** Apps that get or lose an instance at the same time. */
const CONCURRENCY = 2
const PAUSE_MS = 30_000
/** Left free for visitors that wake other apps, and for builds. */
const RESERVE_BYTES = 1024 ** 3

export function createReplicas(parts: Parts) {
  const { clock, log, supervisor, specOf, inFlight, drain, availableBytes = process.availableMemory } = parts
  const apps = new Map<string, App>()
  let changing = 0

  function look() {
    for (const [deployment, app] of apps) {
      if (changing >= CONCURRENCY) return
      if (!app.isChanging && clock.now() >= app.pauseUntil) decide(deployment, app)
    }
  }

  function decide(deployment: string, app: App) {
    const first = supervisor.of(deployment)
    const now = clock.now()
    if (!first) return
    if (first.state === 'ASLEEP') {
      app.trend = undefined
      if (app.ordinals.size > 0) change(deployment, app, () => removeAll(deployment, app))
      else if (app.scaling.minInstances > 0) change(deployment, app, () => wakeFirst(deployment, app))
      return
    }
    const load = { scaling: app.scaling, instances: 1 + app.ordinals.size, inFlight: inFlight(deployment) }
    app.trend = trendOf(load, app.trend, now)
    const next = nextCount(load, app.trend, now)
    if (next > load.instances && first.state === 'RUNNING') change(deployment, app, () => add(deployment, app))
    else if (next < load.instances) change(deployment, app, () => remove(deployment, app, Math.max(...app.ordinals)))
  }

  function change(deployment: string, app: App, make: () => Promise<void>) {
    app.isChanging = true
    app.trend = undefined
    changing++
    make()
      .catch((error) => {
        app.pauseUntil = clock.now() + PAUSE_MS
        log.error({ err: error, deployment }, 'the instances of an app could not be changed')
      })
      .finally(() => {
        app.isChanging = false
        changing--
      })
  }

  async function add(deployment: string, app: App) {
    const spec = await specOf(deployment)
    if (!spec) return
    if (availableBytes() < RESERVE_BYTES || !supervisor.fits(spec)) {
      app.pauseUntil = clock.now() + PAUSE_MS
      spec.log.say('SCALING', APP_LINES.noMemory)
      return spec.log.close()
    }
    const ordinal = firstFree(app.ordinals)
    const further = furtherSpec(spec, ordinal)
    // What an earlier one has written may be of any age.
    await removeTree(further.runFolder)
    if (apps.get(deployment) !== app) return spec.log.close()
    app.ordinals.add(ordinal)
    supervisor.adopt(further)
    await supervisor.warmUp(keyOf(further))
    if (supervisor.of(keyOf(further))?.state !== 'ASLEEP') return
    app.pauseUntil = clock.now() + PAUSE_MS
    await remove(deployment, app, ordinal)
  }

  async function remove(deployment: string, app: App, ordinal: number) {
    app.ordinals.delete(ordinal)
    const key = keyOf({ deployment, ordinal })
    const runFolder = supervisor.folderOf(key)
    await supervisor.retire(key, { drain })
    if (runFolder !== undefined) await removeTree(runFolder)
  }

  async function removeAll(deployment: string, app: App) {
    await Promise.all([...app.ordinals].map((ordinal) => remove(deployment, app, ordinal)))
  }

  async function wakeFirst(deployment: string, app: App) {
    app.pauseUntil = clock.now() + PAUSE_MS
    if (availableBytes() > RESERVE_BYTES) await supervisor.warmUp(deployment)
  }

  const looking = repeat(clock, LOOK_MS, async () => look())

  return {
    /**
     * From now on the deployment has as many instances as its load needs, within these limits. `ordinals` are those that it
     * has already.
     */
    set(deployment: string, scaling: resources.Scaling, ordinals: readonly number[] = []) {
      const known = apps.get(deployment)
      if (!known)
        apps.set(deployment, {
          scaling,
          ordinals: new Set(ordinals),
          trend: undefined,
          isChanging: false,
          pauseUntil: 0,
        })
      else Object.assign(known, { scaling, pauseUntil: 0 })
    },

    /** An app that must not sleep. */
    isKeptAwake: (deployment: string): boolean => (apps.get(deployment)?.scaling.minInstances ?? 0) > 0,

    /** All instances of a deployment, the first one first. */
    of(deployment: string): Running[] {
      const ordinals = [...(apps.get(deployment)?.ordinals ?? [])]
      const keys = [deployment, ...ordinals.map((ordinal) => keyOf({ deployment, ordinal }))]
      return keys.flatMap((key) => supervisor.of(key) ?? [])
    },

    /** Ends all but the first. */
    async retire(deployment: string) {
      const app = apps.get(deployment)
      apps.delete(deployment)
      if (app) await removeAll(deployment, app)
    },

    stop: looking.stop,
  }
}

export type Replicas = ReturnType<typeof createReplicas>

/** Its folder is inside that of the deployment, so that it is removed with it. */
export const furtherSpec = (first: InstanceSpec, ordinal: number): InstanceSpec => ({
  ...first,
  ordinal,
  runFolder: join(first.runFolder, 'instances', String(ordinal)),
})

function firstFree(ordinals: ReadonlySet<number>): number {
  let ordinal = 2
  while (ordinals.has(ordinal)) ordinal++
  return ordinal
}
