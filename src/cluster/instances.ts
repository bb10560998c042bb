/** The apps of a cluster, as the control process sees and steers them. Every process of the cluster has one of these. */
import type { Clock, Log } from '../base/index.ts'
import { resources } from '../contract/index.ts'
import {
  countApps,
  type InstanceRequest,
  type Instances,
  isToldRevalidations,
  memoryOfEach,
  totalMemoryBytes,
} from '../runtime/index.ts'
import type { LineLogs, Vault } from '../storage/index.ts'
import type { AppLines } from './app-lines.ts'
import { sealSecrets } from './app-record.ts'
import type { AppRecords } from './records.ts'
import { type AppRow, nextGeneration } from './rows.ts'
import { toAwakeInstances } from './slots.ts'
import { followStart } from './start-output.ts'
import type { Described, Starts } from './starts.ts'
import { type IsConfirmed, statusOf } from './status.ts'
import type { View } from './view.ts'
import type { Wakes } from './wakes.ts'

type Parts = {
  clock: Clock
  log: Log
  vault: Vault
  records: AppRecords
  view: View
  starts: Starts
  wakes: Wakes
  lines: AppLines
  isConfirmed: IsConfirmed
  tellRevalidated(environment: string): Promise<void>
  startDeadlineMs: number
  stopping: AbortSignal
  /** The state of an app has changed that another process has started. */
  onState?: ((app: OwnedApp) => void) | undefined
  logs: Pick<LineLogs, 'follow' | 'pieces' | 'lastNumber'>
}

export type OwnedApp = Pick<AppRow, 'deployment' | 'environment' | 'account'>

/** How many apps are described and written at a time. */
const ADOPTED_AT_ONCE = 100
/** One that was retired less than this ago was live when the list of live ones was read, and is not any more. */
const JUST_RETIRED_MS = 10 * 60_000
/** Requests in flight have half a minute, and the program as long to end; the leader may be another one meanwhile. */
const RETIRE_MS = 120_000

export function createRowInstances(parts: Parts): Instances & { onChange(deployments: Iterable<string>): void } {
  const { clock, log, vault, records, view, starts, wakes, lines, isConfirmed, stopping } = parts
  /** What this process was told of apps, by deployment. */
  const requests = new Map<string, InstanceRequest>()
  /** What was told of them last. */
  const states = new Map<string, { text: string; app: OwnedApp }>()

  /** Rows of those that are live and not on record: they sleep. Resolves to which they are. */
  async function add(specs: readonly InstanceRequest[]): Promise<string[]> {
    const deployments = specs.map(({ deployment }) => deployment)
    const known = new Map((await records.named(deployments)).map((row) => [row.deployment, row]))
    const now = clock.now()
    const isMissing = (row: AppRow | undefined) => !row || (row.isRetired && row.retireTime < now - JUST_RETIRED_MS)
    const missing = specs.filter(({ deployment }) => isMissing(known.get(deployment)))
    const described = (await Promise.all(missing.map(describe))).filter((app) => app !== undefined)
    const rescaled = specs.filter(({ deployment, scaling }) => {
      const before = known.get(deployment)?.scaling
      return before && JSON.stringify(before) !== JSON.stringify(resources.scalingOf(scaling))
    })
    if (described.length + rescaled.length === 0) return []
    return records.change(async (change) => {
      // Another process may have added some of them meanwhile.
      const current = new Map((await records.named(deployments, change.tx)).map((row) => [row.deployment, row]))
      const added = described.filter(({ deployment }) => isMissing(current.get(deployment)))
      for (const app of added)
        await records.put(change, {
          ...app,
          record: sealSecrets(vault, app.deployment, app.secrets),
          generation: nextGeneration(current.get(app.deployment), now),
          replicas: 0,
          starter: '',
          holdTime: 0,
          visitTime: now,
        })
      for (const { deployment, scaling } of rescaled) await records.setScaling(change, deployment, scaling)
      return added.map(({ deployment }) => deployment)
    })
  }

  /** An app that has no image cannot run in a cluster; the others are not held up by it. */
  const describe = (spec: InstanceRequest): Promise<Described | undefined> =>
    starts.describe(spec).catch((error) => {
      log.error({ err: error, deployment: spec.deployment }, 'a live app cannot run in the cluster')
      return undefined
    })

  /** Ends those that are not live, except those that a process may be bringing up. */
  async function endOthers(live: ReadonlySet<string>) {
    const now = clock.now()
    const isLeft = (deployment: string, holdTime: number) => !live.has(deployment) && holdTime < now
    await records.change(async (change) => {
      for (const { deployment, isRetired, holdTime } of await records.all(change.tx))
        if (!isRetired && isLeft(deployment, holdTime))
          await records.setRetired(change, deployment, { isDrained: true, time: now })
    })
  }

  /** Resolves when it runs, has crashed, or the time is over. */
  async function untilSettled(deployment: string) {
    const over = AbortSignal.any([stopping, AbortSignal.timeout(parts.startDeadlineMs)])
    await view.until(() => {
      const state = statusOf(view.of(deployment), isConfirmed)?.state
      return state === 'STARTING' ? undefined : true
    }, over)
  }

  return {
    async start(spec, { signal, onOutput }) {
      const { deployment } = spec
      requests.set(deployment, spec)
      const following = onOutput && (await followStart({ clock, log, logs: parts.logs }, spec.log.name, onOutput))
      try {
        await starts.start(spec, signal)
      } catch (error) {
        if (requests.get(deployment) === spec) requests.delete(deployment)
        throw error
      } finally {
        await following?.end()
      }
    },

    /** What an instance has written ends with it, on whichever node it was. */
    carry: async () => false,

    async adopt(specs) {
      for (const spec of specs) requests.set(spec.deployment, spec)
      const added: string[] = []
      for (let at = 0; at < specs.length; at += ADOPTED_AT_ONCE)
        added.push(...(await add(specs.slice(at, at + ADOPTED_AT_ONCE))))
      await endOthers(new Set(specs.map(({ deployment }) => deployment)))
      await view.refresh()
      return added
    },

    async warmUp(deployment) {
      if (await wakes.wake(deployment, { mayDisplace: false })) await untilSettled(deployment)
    },

    /** Their hook asks for the record when the number of the newest purge is another one. */
    async refreshExpiries(environment) {
      const ours = [...requests.values()].filter(({ owner }) => owner.environment === environment)
      if (ours.some(({ variables }) => isToldRevalidations(variables))) await parts.tellRevalidated(environment)
    },

    async setScaling(deployment, scaling) {
      await records.change((change) => records.setScaling(change, deployment, scaling))
      await view.refresh()
    },

    async retire(deployment, { isDrained = false } = {}) {
      const request = requests.get(deployment)
      const time = clock.now()
      await records.change((change) => records.setRetired(change, deployment, { isDrained, time }))
      await view.refresh()
      // Meanwhile it may be started again: then nothing is left to wait for.
      const isOver = () => (view.of(deployment).app?.isRetired ? undefined : true)
      const isEnded = await view.until(isOver, AbortSignal.any([stopping, AbortSignal.timeout(RETIRE_MS)]))
      if (!isEnded) log.warn({ deployment }, 'an app has not ended yet; the leader goes on with it')
      if (request && requests.get(deployment) === request && !view.of(deployment).app) requests.delete(deployment)
    },

    say: lines.say,
    of: (deployment) => statusOf(view.of(deployment), isConfirmed),
    holds: (deployment) => view.of(deployment).app !== undefined,
    async awake(account) {
      const awake = (await records.awakeOf(account)).flatMap(toAwakeInstances)
      return { apps: countApps(awake), memoryBytes: totalMemoryBytes(awake), environments: memoryOfEach(awake) }
    },

    /** Rows of these have changed. */
    onChange(deployments) {
      for (const deployment of deployments) {
        const seen = view.of(deployment)
        const text = JSON.stringify(statusOf(seen, isConfirmed) ?? null)
        const known = states.get(deployment)
        if ((known?.text ?? 'null') === text) continue
        const app = seen.app ?? known?.app
        if (text === 'null' || !app) states.delete(deployment)
        else states.set(deployment, { text, app })
        const request = requests.get(deployment)
        if (request) request.onState?.()
        else if (app) parts.onState?.(app)
        if (!seen.app) requests.delete(deployment)
      }
    },
  }
}
