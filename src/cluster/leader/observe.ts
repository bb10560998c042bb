/** What the scheduler reports, written into rows: instances, and how often an app has crashed. Each crash is counted once. */
import type { Clock } from '../../base/index.ts'
import { startText } from '../../contract/index.ts'
import type { Term } from '../../storage/index.ts'
import type { Observation, ObservedInstance } from '../../swarm/index.ts'
import type { AppLines } from '../app-lines.ts'
import type { Change } from '../record-changes.ts'
import type { AppRecords } from '../records.ts'
import type { AppRow, InstanceRow } from '../rows.ts'

type Parts = { clock: Clock; records: AppRecords; lines: AppLines; term: Pick<Term, 'check'> }

/** An instance that answered for longer than this before it crashed starts the count anew. */
const STABLE_MS = 60_000

type Line = { deployment: string; phase: string; text: string }

export function createObserve({ clock, records, lines, term }: Parts) {
  return async function observe({ changed, gone, isWhole }: Observation): Promise<void> {
    const written = await records.change(async (change) => {
      const removed = gone.map(({ instance }) => instance)
      if (isWhole) {
        const seen = new Set(changed.map(({ instance }) => instance))
        const others = (await records.allInstances(change.tx)).filter(({ instance }) => !seen.has(instance))
        removed.push(...others.map(({ instance }) => instance))
        await records.touch(change, [...new Set(others.map(({ deployment }) => deployment))])
      }
      await records.touch(change, [...new Set(gone.map(({ deployment }) => deployment))])
      await records.removeInstances(change, removed)
      return write(change, changed)
    }, term)
    for (const { deployment, phase, text } of written) await lines.sayOf(deployment, phase, text)
  }

  async function write(change: Change, changed: readonly ObservedInstance[]): Promise<Line[]> {
    const deployments = [...new Set(changed.map(({ deployment }) => deployment))]
    const apps = await records.named(deployments, change.tx)
    const before = await records.instancesOf(deployments, change.tx)
    const knownById = new Map(before.map((row) => [row.instance, row]))
    const written: Line[] = []
    for (const app of apps) {
      const own = changed.filter(({ deployment }) => deployment === app.deployment)
      await records.putInstances(
        change,
        own.map((row) => toRow(row, knownById.get(row.instance))),
      )
      await records.touch(change, [app.deployment])
      const crashed = own.filter((row) => isCrash(row, app, knownById.get(row.instance)))
      if (crashed.length > 0) await records.setCrashes(change, counted(app, crashed, knownById, clock.now()))
      written.push(...crashed.map((row) => endLine(row, knownById.get(row.instance))))
      const isNew = own.some(({ instance, state }) => state !== 'CRASHED' && !knownById.has(instance))
      if (isNew && app.crashes + crashed.length > 0 && app.replicas > 0) written.push(startLine(app))
    }
    return written
  }
}

/** One that was to end has not crashed, whatever its exit code. */
const isCrash = (row: ObservedInstance, { replicas }: AppRow, before: InstanceRow | undefined): boolean =>
  row.state === 'CRASHED' && before?.state !== 'CRASHED' && before?.state !== 'STOPPED' && replicas > 0

function counted(
  { deployment, crashes, restarts }: AppRow,
  crashed: readonly ObservedInstance[],
  before: ReadonlyMap<string, InstanceRow>,
  now: number,
) {
  const wasStable = crashed.some(({ instance }) => {
    const row = before.get(instance)
    return row?.isReady && now - row.readyTime > STABLE_MS
  })
  const more = crashed.length
  return { deployment, crashes: (wasStable ? 0 : crashes) + more, restarts: restarts + more }
}

function endLine({ deployment, exitCode, message }: ObservedInstance, before: InstanceRow | undefined): Line {
  const how = exitCode === undefined ? message : `exit code ${exitCode}`
  const text = before?.isReady
    ? `The app ended by itself (${how}).`
    : exitCode === undefined
      ? `The app could not be started: ${message}`
      : `The app ended with ${how} before it answered.`
  return { deployment, phase: 'ENDED', text }
}

const startLine = ({ deployment, service }: AppRow): Line => ({
  deployment,
  phase: 'START',
  text: startText(deployment, service.build),
})

/** It has answered for as long as it is at the same place and runs. */
function toRow(seen: ObservedInstance, before: InstanceRow | undefined): InstanceRow {
  const isSame = before?.state === 'RUNNING' && seen.state === 'RUNNING' && before.port === (seen.port ?? null)
  return {
    instance: seen.instance,
    deployment: seen.deployment,
    node: seen.node ?? null,
    address: seen.address ?? null,
    port: seen.port ?? null,
    state: seen.state,
    isListening: isSame && before.isListening,
    isReady: isSame && before.isReady,
    readyTime: isSame ? before.readyTime : 0,
    exitCode: seen.exitCode ?? null,
    reason: seen.reason ?? null,
    message: seen.message,
  }
}
