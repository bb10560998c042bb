/**
 * What must hold at the end: pure functions of the journal and of the state that was found when the service was idle.
 * Each check lists what is wrong with which environment; an empty list means that all is well.
 */
import { checkVisits, minVersionAt } from './check-visits.ts'
import {
  deletionsOf,
  idOf,
  type Marks,
  type RecordedCall,
  type Records,
  type Spoils,
  type Violation,
} from './journal.ts'

export type FoundOperation = { isDone: boolean; error: string | undefined }

export type FoundEnvironment = {
  name: string
  /** The id of the live build, or empty. */
  build: string
  variables: Record<string, string>
  ledger: { userAgent: string; operation: string }[]
  /** Through each edge. */
  pages: { status: number; marks: Marks | undefined }[]
  /** After one more rebuild, if that succeeded. */
  rebuilt?: Marks[] | undefined
}

/** The state that the service reports when it is idle. */
export type FoundState = {
  apps: string[]
  environments: FoundEnvironment[]
  /** By name; undefined for one that the service does not know. */
  operations: Map<string, FoundOperation>
}

export function check(records: Records, found: FoundState): Violation[] {
  return [
    ...checkApps(records, found),
    ...checkEnvironments(records, found),
    ...checkRefusals(records),
    ...checkOperations(records, found),
    ...checkLedger(records, found),
    ...checkVariables(records, found),
    ...checkSites(records, found),
    ...checkVisits(records),
  ]
}

const isTaken = ({ outcome }: RecordedCall): boolean => outcome === 'acknowledged'
const mayBeDone = ({ outcome }: RecordedCall): boolean => outcome !== 'refused'

function checkApps({ calls }: Records, { apps }: FoundState): Violation[] {
  const there = new Set(apps)
  const deletions = Map.groupBy(
    calls.filter((call) => call.kind === 'deleteApp' && mayBeDone(call)),
    ({ about }) => about,
  )
  return calls
    .filter((call) => call.kind === 'createApp' && isTaken(call))
    .flatMap(({ about }) => {
      const ends = deletions.get(about) ?? []
      if (there.has(about)) {
        return ends.some(isTaken) ? [{ what: 'an app is there whose deletion was acknowledged', about }] : []
      }
      return ends.length > 0 ? [] : [{ what: 'an acknowledged app is lost', about }]
    })
}

/** Refusals that a caller at this rate, and sometimes too late, may get. Most callers never try again. */
const REFUSALS: ReadonlySet<string> = new Set([
  'NOTHING_UPLOADED',
  'WEBHOOKS_EXIST',
  'DEPLOYMENT_NOT_ACTIVATABLE',
  'DEPLOYMENT_NOT_FOUND',
  'ENVIRONMENT_NOT_FOUND',
  'ENVIRONMENT_DELETING',
  'APP_NOT_FOUND',
  'APP_EXISTS',
  'OPERATION_NOT_FOUND',
  'WEBHOOK_REFUSED',
  'WEBHOOKS_NOT_FOUND',
])

function checkRefusals({ calls }: Records): Violation[] {
  const refused = calls.filter(({ outcome, status }) => outcome === 'refused' && status > 0)
  return refused
    .filter(({ reason }) => !REFUSALS.has(reason))
    .map(({ kind, status, reason, caller, about, begun }) => ({
      what: `a call was refused without a cause: ${kind} by ${caller}: ${status} ${reason}`,
      about,
      at: begun,
    }))
}

function checkEnvironments({ calls, ended }: Records, { environments }: FoundState): Violation[] {
  const there = new Set(environments.map(({ name }) => name))
  return calls
    .filter((call) => call.kind === 'createEnvironment' && isTaken(call))
    .flatMap(({ about }) => {
      const ends = deletionsOf(calls, about)
      const isDeleted = ends.some((call) => isTaken(call) && (call.kind === 'deleteApp' || isWell(ended, call)))
      if (there.has(about)) {
        return isDeleted ? [{ what: 'an environment is there although its deletion is done', about }] : []
      }
      return ends.length > 0 ? [] : [{ what: 'an acknowledged environment is lost', about }]
    })
}

const isWell = (ended: Records['ended'], { operation }: RecordedCall): boolean => {
  const end = ended.get(operation)
  return end !== undefined && end.error === undefined
}

function checkOperations(records: Records, { operations }: FoundState): Violation[] {
  const stuck = [...operations].flatMap(([name, { isDone }]) =>
    isDone ? [] : [{ what: `an operation is stuck: ${idOf(name)}`, about: name.split('/operations/')[0] ?? '' }],
  )
  const wrong = records.calls
    .filter((call) => isTaken(call) && call.operation !== '')
    .flatMap((call) => {
      const about = call.about
      const found = operations.get(call.operation)
      const isAway = deletionsOf(records.calls, about).length > 0
      const named = `${call.kind} ${idOf(call.operation)}`
      if (!found) return isAway ? [] : [{ what: `an acknowledged operation is lost: ${named}`, about }]
      if (!found.isDone || found.error === undefined || isAway || isExcused(records, call, found.error)) return []
      return [{ what: `an operation failed without a cause: ${named}: ${found.error}`, about }]
    })
  return [...stuck, ...wrong]
}

/** How often the service may be killed during one operation before it abandons that; see MAX_ATTEMPTS of the worker. */
const KILLS_OF_ONE_OPERATION = 5
const KILLS: ReadonlySet<string> = new Set([
  'killControl',
  'killLeader',
  'killOther',
  'loseControl',
  'killWorker',
  'loseWorker',
])

/**
 * Whether something explains the error: a newer upload, a cancel, a broken archive, or a fault that makes such work
 * fail.
 */
function isExcused({ calls, ended, faults }: Records, call: RecordedCall, error: string): boolean {
  const until = ended.get(call.operation)?.at ?? Number.POSITIVE_INFINITY
  const during = faults.filter((fault) => fault.begun < until && fault.ended > call.begun)
  // A rebuild that joined a waiting upload is superseded with it.
  if (error === 'SUPERSEDED') return call.kind === 'upload' || call.kind === 'rebuild' || call.kind === 'cleanRebuild'
  if (error === 'OPERATION_CANCELLED') {
    return calls.some((other) => other.kind === 'cancel' && other.about === call.about && mayBeDone(other))
  }
  if (error === 'OPERATION_ABANDONED') {
    return during.filter(({ kind }) => KILLS.has(kind)).length >= KILLS_OF_ONE_OPERATION
  }
  // A rebuild builds the last archive: any that may have been the last by then.
  const archives = new Set(
    calls
      .filter(({ upload, about, begun }) => upload && about === call.about && begun < until)
      .flatMap(({ upload }) => upload?.kind ?? []),
  )
  const kinds = call.upload ? new Set([call.upload.kind]) : archives
  if (error === 'BUILD_SCRIPT_FAILED' && kinds.has('broken')) return true
  const isSpoilt: Record<Spoils, boolean> = {
    everything: true,
    nothing: false,
    builds: call.kind !== 'activate' && call.kind !== 'variables',
    starts: true,
    cms: kinds.has('fromCms'),
    packages: kinds.has('withPackage'),
  }
  return during.some(({ spoils }) => isSpoilt[spoils])
}

function checkLedger({ calls }: Records, { environments }: FoundState): Violation[] {
  return environments.flatMap(({ name: about, ledger }) => {
    const entries = Map.groupBy(ledger, ({ userAgent }) => userAgent)
    const asked = calls.filter((call) => call.about === about && LEDGERED.has(call.kind))
    // The ledger names the operation that satisfied the call: in the end, an upload that came while the build waited.
    const uploads = new Set(
      calls.filter((call) => call.about === about && call.upload).map(({ operation }) => operation),
    )
    const answered = new Set(calls.map(({ operation }) => operation))
    // A rebuild that waits when another archive is activated is put behind the activation, as another operation, which later
    // calls may join.
    const isPutBehind = ({ kind, begun }: RecordedCall, operation: string) =>
      kind !== 'purge' &&
      operation !== '' &&
      calls.some(
        (other) => other.about === about && other.kind === 'activate' && mayBeDone(other) && other.ended > begun,
      )
    // An upload whose response was lost with the control process is an operation that no caller has, too.
    const isOfLostUpload = ({ begun }: RecordedCall, operation: string) =>
      !answered.has(operation) &&
      calls.some((other) => other.about === about && other.upload && other.outcome === 'unsure' && other.ended > begun)
    return asked.flatMap((call) => {
      const [entry, another] = entries.get(call.caller) ?? []
      const named = `${call.kind} by ${call.caller}`
      if (another) return [{ what: `a call is in the ledger more than once: ${named}`, about }]
      if (!isTaken(call)) return []
      if (!entry) return [{ what: `an acknowledged call is not in the ledger: ${named}`, about }]
      if (entry.operation === call.operation || uploads.has(entry.operation)) return []
      if (isPutBehind(call, entry.operation) || isOfLostUpload(call, entry.operation)) return []
      const both = `${idOf(call.operation)}, and ${idOf(entry.operation)} in the ledger`
      return [{ what: `the ledger has another operation than the response: ${named}: ${both}`, about }]
    })
  })
}

const LEDGERED: ReadonlySet<RecordedCall['kind']> = new Set(['rebuild', 'cleanRebuild', 'purge'])

function checkVariables({ calls }: Records, { environments }: FoundState): Violation[] {
  return environments.flatMap(({ name: about, variables }) => {
    const changes = calls.filter((call) => call.about === about && call.value !== undefined && mayBeDone(call))
    const lastTaken = changes.findLastIndex(isTaken)
    // A call without a response may have been done after it, or before a later acknowledged one.
    const possible = changes.slice(Math.max(0, lastTaken))
    const unsure = changes.filter(({ outcome }) => outcome === 'unsure')
    const values = [...possible, ...unsure].map(({ value }) => value)
    if (lastTaken < 0 || values.includes(variables.MARK)) return []
    return [{ what: `a variable is ${variables.MARK}, and was acknowledged as ${changes[lastTaken]?.value}`, about }]
  })
}

function checkSites(records: Records, { environments }: FoundState): Violation[] {
  return environments.flatMap(({ name: about, pages, build, rebuilt = [] }) => {
    const minVersion = minVersionAt(records, about, Number.POSITIVE_INFINITY)
    const wrong = pages.flatMap(({ status, marks }): string[] => {
      const shown = marks?.version ?? 0
      if (build === '') return status === 200 ? ['nothing is live, and its site answers 200'] : []
      if (status !== 200 || !marks) return [`it is live, and its site answers ${status}`]
      if (marks.build !== undefined && marks.build !== build)
        return [`its site shows the build ${marks.build}, and ${build} is live`]
      if (shown >= minVersion) return []
      return [`its site shows version ${shown}, which is older than ${minVersion}, which went live`]
    })
    if (build === '' && minVersion > 0) wrong.push(`version ${minVersion} went live, and nothing is live`)
    // A rollback pins its version until an upload is live.
    const expected = [...lastVersions(records, about), ...activatedVersions(records.calls, about)]
    for (const { version } of rebuilt) {
      if (!expected.includes(version))
        wrong.push(`a rebuild made version ${version}; the last upload or rollback was one of ${expected}`)
    }
    return wrong.map((what) => ({ what, about }))
  })
}

/** Versions of all rollbacks that were not refused: whether an upload replaced one depends on how its build ended. */
function activatedVersions(calls: readonly RecordedCall[], environment: string): number[] {
  return calls.flatMap((call) =>
    call.kind === 'activate' && call.about === environment && call.outcome !== 'refused' ? (call.activated ?? []) : [],
  )
}

/**
 * The last acknowledged upload, and later ones whose outcome is unknown. The archive of an upload that was cancelled is not
 * what the next rebuild builds, if the one before it is still kept.
 */
function lastVersions({ calls, ended }: Records, environment: string): number[] {
  const uploads = calls.filter((call) => call.about === environment && call.upload && mayBeDone(call))
  const isCancelled = ({ operation }: RecordedCall) => ended.get(operation)?.error === 'OPERATION_CANCELLED'
  const lastTaken = uploads.findLastIndex((call) => isTaken(call) && !isCancelled(call))
  const unsure = uploads.filter(({ outcome }) => outcome === 'unsure')
  return [...uploads.slice(Math.max(0, lastTaken)), ...unsure].flatMap(({ upload }) => upload?.version ?? [])
}
