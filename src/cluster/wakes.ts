/** Wakes apps that sleep: for a visitor at an edge, or before there is one. */
import type { Clock, Log } from '../base/index.ts'
import { Problem, startText } from '../contract/index.ts'
import type { AppLines } from './app-lines.ts'
import type { AppRecords } from './records.ts'
import { awakeReplicas } from './rows.ts'
import type { AwakeSlots } from './slots.ts'
import type { View } from './view.ts'

type Parts = {
  clock: Clock
  log: Log
  records: Pick<AppRecords, 'named' | 'setAwake'>
  view: Pick<View, 'of' | 'refresh'>
  slots: AwakeSlots
  lines: AppLines
  stopping: AbortSignal
}

export function createWakes({ clock, log, records, view, slots, lines, stopping }: Parts) {
  const waking = new Map<string, Promise<boolean>>()

  /** Resolves to whether it is awake now. */
  async function wakeNow(deployment: string, mayDisplace: boolean): Promise<boolean> {
    const { app } = view.of(deployment)
    if (!app || app.isRetired) return false
    if (app.replicas > 0) return true
    const isWoken = await slots.take(app, { mayDisplace, signal: stopping }, async (change) => {
      const [row] = await records.named([deployment], change.tx)
      if (!row || row.isRetired) return undefined
      if (row.replicas > 0) return false
      await records.setAwake(change, deployment, { replicas: awakeReplicas(row.scaling), time: clock.now() })
      return true
    })
    await view.refresh()
    if (isWoken) await lines.sayOf(deployment, 'START', startText(deployment, app.service.build))
    return isWoken !== undefined
  }

  return {
    /** Calls for one deployment share the work. Never rejects. */
    wake(deployment: string, { mayDisplace }: { mayDisplace: boolean }): Promise<boolean> {
      const known = waking.get(deployment)
      if (known) return known
      const mine = wakeNow(deployment, mayDisplace)
        .catch(async (error) => {
          if (stopping.aborted) return false
          if (error instanceof Problem) await lines.sayOf(deployment, 'ENDED', error.message)
          else log.error({ err: error, deployment }, 'an app could not be woken')
          return false
        })
        .finally(() => waking.delete(deployment))
      waking.set(deployment, mine)
      return mine
    },
    settled: () => Promise.all(waking.values()),
  }
}

export type Wakes = ReturnType<typeof createWakes>
