/**
 * The requests of the actors and the responses they got, in memory: the checks compare the service with it. A call is
 * recorded before it is sent; until a response arrives it counts as lost, which means that it may have been done or
 * not.
 */
import type { ArchiveKind } from './plan.ts'

/** Monotonic milliseconds, the same in every process of this machine: apps write them into their pages. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export type CallKind =
  | 'createApp'
  | 'deleteApp'
  | 'createEnvironment'
  | 'deleteEnvironment'
  | 'upload'
  | 'rebuild'
  | 'cleanRebuild'
  | 'purge'
  | 'variables'
  | 'activate'
  | 'cancel'
  | 'webhooks'

export type Upload = { version: number; kind: ArchiveKind; label: string }

export type Purge = { paths?: string[]; tags?: string[] }

export type RecordedCall = {
  kind: CallKind
  account: string
  /** The name of the environment, or of the app if the call is about an app. */
  about: string
  begun: number
  ended: number
  /**
   * `unsure`: no response, and the service may still do it. `lost`: no response, and the service will not do anything
   * more.
   */
  outcome: 'acknowledged' | 'refused' | 'lost' | 'unsure'
  status: number
  reason: string
  operation: string
  /** Its User-Agent, which the ledger keeps. */
  caller: string
  upload?: Upload
  purge?: Purge
  /** The value that the variable was set to. */
  value?: string
  /** The version that was made live again. */
  activated?: number
}

export type Ended = { operation: string; at: number; error: string | undefined }

/** The marks in a page. */
export type Marks = {
  account: string
  label: string
  version: number
  kind: ArchiveKind
  environment?: string
  build?: string
  variable?: string
  path?: string
  /** When the app rendered the page. */
  rendered?: number
}

export type Visit = {
  environment: string
  /** The number of the edge that was asked. */
  edge: number
  path: string
  begun: number
  ended: number
  status: number
  marks: Marks | undefined
  /** The `Cache-Status` of the edge: hit, miss and why. */
  cacheStatus: string
}

/** The work that a fault is allowed to make fail. */
export type Spoils = 'builds' | 'starts' | 'cms' | 'packages' | 'everything' | 'nothing'

export type Fault = {
  kind: string
  begun: number
  ended: number
  spoils: Spoils
  detail: string
  /** The edge that it cuts off. */
  edge?: number | undefined
}

export type Records = {
  calls: RecordedCall[]
  ended: Map<string, Ended>
  visits: Visit[]
  faults: Fault[]
}

export function createJournal() {
  const records: Records = { calls: [], ended: new Map(), visits: [], faults: [] }
  return {
    records,

    /** Records a call before it is sent. `settle` completes the returned record. */
    begin(call: Pick<RecordedCall, 'kind' | 'account' | 'about' | 'caller'> & Partial<RecordedCall>): RecordedCall {
      const written: RecordedCall = {
        begun: now(),
        ended: Number.POSITIVE_INFINITY,
        outcome: 'unsure',
        status: 0,
        reason: '',
        operation: '',
        ...call,
      }
      records.calls.push(written)
      return written
    },

    settle(call: RecordedCall, outcome: Pick<RecordedCall, 'outcome' | 'status' | 'reason' | 'operation'>) {
      Object.assign(call, outcome, { ended: outcome.outcome === 'unsure' ? Number.POSITIVE_INFINITY : now() })
    },

    /** Records that an operation is done. */
    end(operation: string, error: string | undefined) {
      if (!records.ended.has(operation)) records.ended.set(operation, { operation, at: now(), error })
    },

    visit: (visit: Visit) => void records.visits.push(visit),

    fault(kind: string, given: Pick<Fault, 'spoils' | 'detail' | 'edge'>): Fault {
      const fault = { kind, ...given, begun: now(), ended: Number.POSITIVE_INFINITY }
      records.faults.push(fault)
      return fault
    },
  }
}

export type Journal = ReturnType<typeof createJournal>

/** `at`: when it was found, if that is known. */
export type Violation = { what: string; about: string; at?: number }

/** Calls that delete, or may have deleted, the environment or its app. */
export const deletionsOf = (calls: readonly RecordedCall[], environment: string): RecordedCall[] =>
  calls.filter(
    ({ kind, about, outcome }) =>
      outcome !== 'refused' &&
      ((kind === 'deleteEnvironment' && about === environment) ||
        (kind === 'deleteApp' && environment.startsWith(`${about}/`))),
  )

const SHOWN = 60

/** The last events of an environment before the violation, with the faults among them, to find the cause. */
export function linesAbout(
  { calls, ended, faults, visits }: Records,
  { about: environment, at: seen }: Violation,
): string[] {
  const start = Math.min(...calls.map(({ begun }) => begun), ...faults.map(({ begun }) => begun))
  const at = (ms: number) => `${((ms - start) / 1000).toFixed(3).padStart(9)} s`
  const lines: [number, string][] = []
  const listed = new Set<string>()
  for (const call of calls.filter(({ about }) => about === environment || environment.startsWith(`${about}/`))) {
    const { kind, outcome, status, reason, operation, caller, upload, purge, value, activated } = call
    const data = JSON.stringify({ ...upload, ...purge, value, activated })
    lines.push([call.begun, `${kind} ${data} by ${caller}`])
    if (call.ended < Number.POSITIVE_INFINITY) {
      lines.push([call.ended, `${kind} by ${caller}: ${outcome} ${status} ${reason} ${idOf(operation)}`])
    }
    const end = ended.get(operation)
    if (end && !listed.has(operation)) lines.push([end.at, `done: ${kind} ${idOf(operation)} ${end.error ?? 'well'}`])
    listed.add(operation)
  }
  for (const { kind, begun, detail } of faults) lines.push([begun, `FAULT ${kind} ${detail}`])
  const odd = visits.filter((visit) => visit.environment === environment && visit.status !== 200)
  for (const { begun, path, status } of odd.slice(-10)) lines.push([begun, `visit ${path}: ${status}`])
  if (seen !== undefined) lines.push([seen, 'SEEN NOW'])
  return lines
    .filter(([ms]) => seen === undefined || ms <= seen + 1000)
    .sort(([a], [b]) => a - b)
    .slice(-SHOWN)
    .map(([ms, text]) => `${at(ms)}  ${text}`)
}

export const idOf = (name: string): string => name.split('/').at(-1) ?? ''
