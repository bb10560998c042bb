/**
 * The rows as this process knows them: read when the database tells of a change, and looked at each second. Revisions tell what
 * is new; where the number of apps is not as counted, rows were removed, and everything is read.
 */
import { type Changes, type Clock, createListeners, type Log, type Repetition, repeat } from '../base/index.ts'
import { type AppRecords, HINTS } from './records.ts'
import type { AppRow, InstanceRow } from './rows.ts'
import type { Seen } from './status.ts'

type Parts = {
  clock: Clock
  log: Log
  records: Pick<AppRecords, 'position' | 'since' | 'all' | 'instancesOf' | 'allInstances'>
  changes: Pick<Changes, 'follow'>
}

const LOOK_MS = 1000

export function createView({ clock, log, records, changes }: Parts) {
  const apps = new Map<string, AppRow>()
  const instances = new Map<string, InstanceRow[]>()
  const listeners = createListeners<ReadonlySet<string>>()
  let known = 0
  let isLoaded = false
  let isFailing = false
  let current: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  let looking: Repetition | undefined
  let unfollow: (() => void) | undefined

  async function readOnce(): Promise<ReadonlySet<string>> {
    const { apps: count, last } = await records.position()
    if (isLoaded && last === known && count === apps.size) return new Set()
    if (!isLoaded || last < known) return readAll()
    const rows = await records.since(known)
    const seen = await records.instancesOf(rows.map(({ deployment }) => deployment))
    const byDeployment = Map.groupBy(seen, ({ deployment }) => deployment)
    for (const row of rows) use(row, byDeployment.get(row.deployment) ?? [])
    const changed = new Set(rows.map(({ deployment }) => deployment))
    return count === apps.size ? changed : readAll()
  }

  async function readAll(): Promise<ReadonlySet<string>> {
    // The number is read before the rows: a change in between is read twice, and never missed.
    const { last } = await records.position()
    const rows = await records.all()
    const byDeployment = Map.groupBy(await records.allInstances(), ({ deployment }) => deployment)
    const changed = new Set([...apps.keys(), ...rows.map(({ deployment }) => deployment)])
    apps.clear()
    instances.clear()
    for (const row of rows) use(row, byDeployment.get(row.deployment) ?? [])
    known = last
    isLoaded = true
    return changed
  }

  function use(row: AppRow, seen: InstanceRow[]) {
    const { deployment } = row
    known = Math.max(known, row.revision)
    if (row.isGone) {
      apps.delete(deployment)
      instances.delete(deployment)
      return
    }
    apps.set(deployment, row)
    instances.set(deployment, seen)
  }

  /** Resolves when everything is known that was committed before this call. Calls during a reading share the next one. */
  function refresh(): Promise<void> {
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = undefined
        current = readOnce().then((changed) => {
          if (changed.size > 0) listeners.notify(changed)
        })
        return current
      })
    return next
  }

  async function refreshSoon() {
    try {
      await refresh()
      if (isFailing) log.info('the apps of the cluster are read again')
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'the apps of the cluster cannot be read; what is known goes on')
      isFailing = true
    }
  }

  return {
    refresh,
    of: (deployment: string): Seen => ({ app: apps.get(deployment), instances: instances.get(deployment) ?? [] }),
    apps: (): IterableIterator<AppRow> => apps.values(),
    /** Called with the deployments whose rows have changed. */
    onChange: listeners.add,

    /** What is known beside the rows has changed: each app is looked at again. */
    lookAgain: () => listeners.notify(new Set(apps.keys())),

    /** Resolves when the look returns something, or to undefined when the signal is aborted. */
    async until<T>(look: () => T | undefined, signal: AbortSignal): Promise<T | undefined> {
      const { promise, resolve } = Promise.withResolvers<T | undefined>()
      const check = () => {
        const found = signal.aborted ? undefined : look()
        if (found !== undefined || signal.aborted) resolve(found)
      }
      const forget = listeners.add(check)
      signal.addEventListener('abort', check)
      check()
      return promise.finally(() => {
        forget()
        signal.removeEventListener('abort', check)
      })
    },

    async start() {
      unfollow = changes.follow(HINTS, () => void refreshSoon())
      await refresh()
      looking = repeat(clock, LOOK_MS, refreshSoon)
    },
    async stop() {
      unfollow?.()
      await looking?.stop()
      await current.catch(() => undefined)
    },
  }
}

export type View = ReturnType<typeof createView>
