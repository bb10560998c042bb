/**
 * How many instances apps should have, by the requests in flight at all edges: the decision is that of one machine. The row says
 * the number, and the reconciler makes the scheduler follow it.
 *
 *   up      when all instances that are wanted answer, and the account has memory for another one; else tried again after a pause
 *   down    at any time: an instance that ends lets its requests end first
 *
 * A leader that begins counts how long apps are busy or calm anew.
 */
import { APP_LINES, nextCount, type ScalePace, type Trend, trendOf } from '../../runtime/index.ts'
import type { Term } from '../../storage/index.ts'
import type { AppLines } from '../app-lines.ts'
import type { AppRecords } from '../records.ts'
import type { AppRow } from '../rows.ts'
import type { AwakeSlots } from '../slots.ts'
import type { View } from '../view.ts'
import { createLoads } from './loads.ts'

type Parts = {
  records: Pick<AppRecords, 'change' | 'loads' | 'removeLoads' | 'setReplicas'>
  view: Pick<View, 'of' | 'apps'>
  slots: Pick<AwakeSlots, 'fits'>
  lines: AppLines
  term: Pick<Term, 'check'>
  pace: ScalePace | undefined
  /** Monotonic. */
  now?(): number
}

type Known = { trend: Trend; pauseUntil: number }

/** Between attempts to get memory for another instance. */
const PAUSE_MS = 30_000

export function createScaling(parts: Parts) {
  const { records, view, slots, lines, term, pace, now = () => performance.now() } = parts
  const known = new Map<string, Known>()
  const loads = createLoads(now)

  /** Others have one instance, which comes and goes with visitors. */
  const isScaled = ({ replicas, isRetired, scaling }: AppRow): boolean =>
    replicas > 0 && !isRetired && (scaling.maxInstances > 1 || replicas > 1)

  async function scale(app: AppRow, one: Known, inFlight: number) {
    const { deployment, scaling, replicas } = app
    const time = now()
    const load = { scaling, instances: replicas, inFlight }
    one.trend = trendOf(load, one.trend, time)
    const next = nextCount(load, one.trend, time, pace)
    const areAllReady = view.of(deployment).instances.filter(({ isReady }) => isReady).length >= replicas
    const isUp = next > replicas
    if (next === replicas || (isUp && (!areAllReady || time < one.pauseUntil))) return
    one.trend = undefined
    const hasMemory = await records.change(async (change) => {
      if (isUp && !(await slots.fits(app, change))) return false
      await records.setReplicas(change, deployment, { before: replicas, replicas: next })
      return true
    }, term)
    if (hasMemory) return
    one.pauseUntil = time + PAUSE_MS
    await lines.sayOf(deployment, 'SCALING', APP_LINES.noMemory)
  }

  return async (): Promise<void> => {
    const apps = [...view.apps()].filter(isScaled)
    const there = new Set(apps.map(({ deployment }) => deployment))
    for (const deployment of known.keys()) if (!there.has(deployment)) known.delete(deployment)
    if (apps.length === 0) return
    const { inFlight, dead } = loads.look(await records.loads())
    if (dead.length > 0) await records.removeLoads(dead, term)
    for (const app of apps) {
      const one = known.get(app.deployment) ?? { trend: undefined, pauseUntil: 0 }
      known.set(app.deployment, one)
      await scale(app, one, inFlight.get(app.deployment) ?? 0)
    }
  }
}
