/** A reconciler on a real swarm, with desired apps that a test changes, and what it reported. */
import { setTimeout as wait } from 'node:timers/promises'
import { createLog, systemClock } from '../../../src/base/index.ts'
import {
  createReconciler,
  type DesiredApp,
  type Docker,
  type ObservedInstance,
  type ReconcilerParts,
} from '../../../src/swarm/index.ts'
import { until } from '../until.ts'
import { desiredApp } from './desired.ts'
import type { AppImage } from './image.ts'

/** A round costs more than most other looks. */
const PAUSE_MS = 100

export type Cluster = ReturnType<typeof createCluster>

type Options = { cluster: string; docker: Docker; image: AppImage } & Partial<Pick<ReconcilerParts, 'mayWrite'>>

export function createCluster({ cluster, docker, image, mayWrite = async () => true }: Options) {
  const apps = new Map<string, DesiredApp>()
  const variables = new Map<string, Record<string, string>>()
  const instances = new Map<string, ObservedInstance>()
  const { command, writable } = image

  const parts: ReconcilerParts = {
    docker,
    cluster,
    clock: systemClock,
    log: createLog('silent'),
    desired: async (scope) => [...apps.values()].filter(({ deployment }) => scope?.includes(deployment) ?? true),
    variables: async ({ deployment }) => variables.get(deployment) ?? {},
    mayWrite,
    async observe({ changed, gone, isWhole }) {
      if (isWhole) instances.clear()
      for (const row of changed) instances.set(row.instance, row)
      for (const { instance } of gone) instances.delete(instance)
    },
  }
  let reconciler = createReconciler(parts)

  const of = (deployment: string) => [...instances.values()].filter((row) => row.deployment === deployment)
  const running = (deployment: string) => of(deployment).filter(({ state }) => state === 'RUNNING')

  return {
    /** Adds an app, or changes it. */
    want(deployment: string, change: Partial<DesiredApp> & { variables?: Record<string, string> } = {}) {
      const { variables: given, ...rest } = change
      const before = apps.get(deployment) ?? desiredApp({ deployment, image: image.image, command, writable })
      apps.set(deployment, { ...before, ...rest })
      if (given) variables.set(deployment, given)
    },
    wanted: () => [...apps.keys()],
    forget: (deployment: string) => apps.delete(deployment),
    parts,
    of,
    running,
    round: (scope?: readonly string[]) => reconciler.round(scope),
    regions: () => reconciler.regions(),
    /** As a new process, which knows nothing. */
    renew(change: Partial<ReconcilerParts> = {}) {
      instances.clear()
      reconciler = createReconciler({ ...parts, ...change })
    },
    /** Rounds by itself until the signal is aborted: `round` must not be called meanwhile. */
    run: (signal: AbortSignal) => reconciler.run(signal),
    hint: (deployment: string) => reconciler.hint(deployment),
    /** Rounds until it is so. */
    async roundsUntil<T>(look: () => T | Promise<T>, what: string) {
      return until(async () => {
        await reconciler.round()
        const seen = await look()
        if (!seen) await wait(PAUSE_MS)
        return seen
      }, what).catch((error) => {
        throw new Error(`${error.message}: ${JSON.stringify([...instances.values()], undefined, 1)}`)
      })
    },
    urls: (deployment: string) => running(deployment).map(({ address, port }) => `http://${address}:${port}`),
  }
}
