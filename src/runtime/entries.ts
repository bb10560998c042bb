/** What is known of each instance that is kept running, and how its processes end. */
import type { resources } from '../contract/index.ts'
import type { AwakeApp } from './awake-slots.ts'
import type { Instance, InstanceSpec } from './instance.ts'

export type Running = { state: resources.InstanceState; restarts: number; instance: Instance | undefined }

export type SupervisedDeployment = Running & {
  spec: InstanceSpec
  /** Crashes in a row, none of them long after its start. */
  crashes: number
  retiring: AbortController
  /** The start that is under way, or the last one. Never rejects. */
  starting: Promise<void>
  visitTime: number
  /** It has its slot among the awake apps, and no process yet. */
  isComing: boolean
  /** What it used when that was last measured. */
  memoryBytes: number
  /** Those whose process has not ended: the one that answers, and one that was put to sleep and still drains. */
  instances: Set<Instance>
  /** Of these, the one that goes on where it was when the app is woken. */
  frozen: Instance | undefined
  frozenTime: number
}

/** Lets requests in flight to an instance end. */
export type Drain = (instance: string) => Promise<void>

export type StopOptions = {
  graceMs?: number
  /** Lets requests in flight end first, for as long as the process is there. */
  drain?: Drain
}

const STOP_GRACE_MS = 30_000

/** Names an instance. That of the first is the id of its deployment. */
export const keyOf = ({ deployment, ordinal }: Pick<InstanceSpec, 'deployment' | 'ordinal'>): string =>
  ordinal === undefined ? deployment : `${deployment}.${ordinal}`

export const deploymentOf = (key: string): string => key.split('.', 1)[0] ?? key

export type WithEntry = { entry: SupervisedDeployment }

export function newEntry(spec: InstanceSpec, now: number): SupervisedDeployment {
  return {
    spec,
    state: 'STARTING',
    restarts: 0,
    crashes: 0,
    instance: undefined,
    retiring: new AbortController(),
    starting: Promise.resolve(),
    visitTime: now,
    isComing: false,
    memoryBytes: 0,
    instances: new Set(),
    frozen: undefined,
    frozenTime: 0,
  }
}

/** One that is being woken is about to be awake. */
const isFrozen = ({ frozen, isComing }: SupervisedDeployment): boolean => frozen !== undefined && !isComing

/** Measures the memory of its processes, where they run. */
export function toAwakeApp(entry: SupervisedDeployment): AwakeApp & WithEntry {
  for (const { process } of entry.instances) entry.memoryBytes = process.memoryBytes?.() || entry.memoryBytes
  const { memoryBytes, state, spec } = entry
  // Where memory is short, a further instance sleeps before any app does.
  const visitTime = spec.ordinal === undefined ? entry.visitTime : 0
  const { environment } = spec.owner
  return { entry, environment, memoryBytes, visitTime, isRunning: state === 'RUNNING', isFrozen: isFrozen(entry) }
}

/** Its slot is free only after the process has exited. */
export async function endInstance({ process }: Instance) {
  await process.stop(STOP_GRACE_MS)
  await process.exited
}

/** Ends its processes for good, and closes its log. */
export async function endProcesses(entry: SupervisedDeployment, { graceMs = STOP_GRACE_MS, drain }: StopOptions) {
  entry.retiring.abort(new Error('the deployment is retired'))
  // A start that answers in this very moment leaves an instance, too.
  await entry.starting
  try {
    if (entry.instance && drain) await Promise.race([drain(entry.instance.id), entry.instance.process.exited])
  } finally {
    await stopInstances(entry, graceMs)
    await entry.spec.log.close()
  }
}

export async function stopInstances({ instances }: SupervisedDeployment, graceMs: number) {
  await Promise.all([...instances].map(({ process }) => process.stop(graceMs)))
}
