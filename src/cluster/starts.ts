/**
 * Starts an app of a cluster: writes what is wanted, and waits until the leader has seen an instance that answers. The row is
 * there before the wait begins, so a process that dies meanwhile leaves an app that starts, which the next one that works on the
 * operation finds.
 */
import { type Clock, pollUntil, randomToken } from '../base/index.ts'
import { Problem, shortId, startText } from '../contract/index.ts'
import type { InstanceRequest } from '../runtime/index.ts'
import type { Vault } from '../storage/index.ts'
import type { AppLines } from './app-lines.ts'
import { type AppSecrets, isOtherProgram, openSecrets, sealSecrets, secretsOf, serviceOf } from './app-record.ts'
import { isOutputOver } from './output-text.ts'
import { crashedAtStart, isHopeless, notStarted } from './problems.ts'
import type { Change } from './record-changes.ts'
import type { AppRecords } from './records.ts'
import { type AppRow, awakeReplicas, nextGeneration, replicasWithin } from './rows.ts'
import type { AwakeSlots } from './slots.ts'
import { type IsConfirmed, usable } from './status.ts'
import type { View } from './view.ts'

export type StartParts = {
  clock: Clock
  vault: Vault
  records: AppRecords
  view: View
  slots: AwakeSlots
  lines: AppLines
  isConfirmed: IsConfirmed
  imageOf(build: string): Promise<string>
  regionOf(environmentId: string): Promise<string>
  /** For an answer, from when the program runs. */
  startDeadlineMs: number
  /** For a node that gets the image and runs the program. */
  placeDeadlineMs: number
}

/** For the last lines of an app that has crashed. */
const LAST_LINES_MS = 10_000
/** Between the start of an app and the moment it is live; other processes do not end it before. */
const SWITCH_MS = 15 * 60_000

export type Described = Pick<AppRow, 'deployment' | 'environment' | 'account' | 'region' | 'image' | 'service'> & {
  scaling: InstanceRequest['scaling']
  secrets: AppSecrets
}

export function createStarts(parts: StartParts) {
  const { clock, vault, records, view, slots, lines, isConfirmed, startDeadlineMs, placeDeadlineMs } = parts

  async function describe(spec: InstanceRequest): Promise<Described> {
    const { deployment, build, owner, scaling } = spec
    const [image, region, secrets] = await Promise.all([
      parts.imageOf(build),
      parts.regionOf(owner.environment),
      secretsOf(spec),
    ])
    return { deployment, ...owner, region, image, service: serviceOf(spec), scaling, secrets }
  }

  /** Resolves to the instances that have crashed before, which are not those of this start. */
  async function write(change: Change, app: Described, starter: string): Promise<ReadonlySet<string>> {
    const { deployment, secrets, scaling } = app
    const [before] = await records.named([deployment], change.tx)
    const sealed = before && (await records.recordOf(deployment, change.tx))
    const isOther =
      !before || !sealed || isOtherProgram(app, { ...before, secrets: openSecrets(vault, deployment, sealed) })
    const now = clock.now()
    await records.put(change, {
      ...app,
      record: sealSecrets(vault, deployment, secrets),
      generation: before && !isOther ? before.generation : nextGeneration(before, now),
      replicas: isOther ? awakeReplicas(scaling) : replicasWithin(scaling, before.replicas),
      starter,
      holdTime: now + placeDeadlineMs + 2 * startDeadlineMs + SWITCH_MS,
      visitTime: now,
    })
    const seen = await records.instancesOf([deployment], change.tx)
    // Those of another program do not answer for this one.
    return new Set(seen.filter(({ state }) => isOther || state === 'CRASHED').map(({ instance }) => instance))
  }

  /** Resolves when an instance answers; rejects with why none does. */
  async function untilReady(app: Described, ignored: ReadonlySet<string>, signal: AbortSignal) {
    const { deployment, region } = app
    const seen = () => view.of(deployment).instances.filter(({ instance }) => !ignored.has(instance))
    const isReady = () => usable({ instances: seen() }, isConfirmed).length > 0
    const failure = () => {
      const failed = seen().find((row) => row.state === 'CRASHED' || isHopeless(row))
      return failed && crashedAtStart(failed, region)
    }
    const within = async (ms: number, look: () => boolean) => {
      const over = AbortSignal.any([signal, AbortSignal.timeout(ms)])
      const result = await view.until(() => (isReady() ? 'ready' : (failure() ?? (look() || undefined))), over)
      signal.throwIfAborted()
      if (result instanceof Error) throw result
      return result
    }
    const isRunning = () => seen().some(({ state }) => state === 'RUNNING')
    const isUnplaced = () => seen().some(({ reason }) => reason !== null)
    if ((await within(startDeadlineMs, isRunning)) === undefined && isUnplaced())
      throw notStarted(seen(), { region, seconds: Math.round(startDeadlineMs / 1000), isConfirmed })
    if ((await within(placeDeadlineMs, isRunning)) === undefined)
      throw notStarted(seen(), { region, seconds: Math.round(placeDeadlineMs / 1000), isConfirmed })
    if ((await within(startDeadlineMs, () => false)) === undefined)
      throw notStarted(seen(), { region, seconds: Math.round(startDeadlineMs / 1000), isConfirmed })
  }

  /** What it has written last says why, and goes with its instance: so the leader reads it first. */
  async function untilRead(deployment: string, ignored: ReadonlySet<string>, signal: AbortSignal) {
    const crashed = view
      .of(deployment)
      .instances.filter(({ instance, state }) => state === 'CRASHED' && !ignored.has(instance))
    const isRead = async () => {
      const outputs = await records.outputs(deployment)
      return crashed.every(({ instance }) => isOutputOver(outputs.get(instance)))
    }
    const every = { pauseMs: 100, timeoutMs: LAST_LINES_MS, signal }
    await pollUntil(clock, () => isRead().catch(() => false), every)
  }

  return {
    describe,

    async start(spec: InstanceRequest, signal: AbortSignal): Promise<void> {
      const app = await describe(spec)
      const { deployment } = app
      const starter = randomToken()
      const ignored = await slots.take(app, { mayDisplace: true, signal }, (change) => write(change, app, starter))
      try {
        await lines.trySay(spec.log, 'START', startText(deployment, spec.build))
        await view.refresh()
        await untilReady(app, ignored, signal)
      } catch (error) {
        if (error instanceof Problem && error.reason === 'START_CRASHED') await untilRead(deployment, ignored, signal)
        const retired = { isDrained: false, time: clock.now(), starter }
        await records.change((change) => records.setRetired(change, deployment, retired))
        await view.refresh()
        await lines.trySay(spec.log, 'ENDED', `Deployment ${shortId(deployment)} did not come up.`)
        throw error
      }
    },
  }
}

export type Starts = ReturnType<typeof createStarts>
