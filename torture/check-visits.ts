/**
 * Checks the pages that visitors got: never another tenant's page, never an older version than one that went live,
 * never a purged one.
 */
import {
  deletionsOf,
  type Fault,
  idOf,
  type Purge,
  type RecordedCall,
  type Records,
  type Violation,
  type Visit,
} from './journal.ts'

export function checkVisits(records: Records): Violation[] {
  return [...Map.groupBy(records.visits, ({ environment }) => environment)].flatMap(([environment, visits]) => {
    const known = knowledgeOf(records, environment)
    return visits.flatMap((visit) => {
      const what = crossed(known, visit) ?? older(known, visit) ?? purged(known, visit) ?? afterDeletion(known, visit)
      return what === undefined ? [] : [{ what: `${what} (${describe(visit)})`, about: environment, at: visit.begun }]
    })
  })
}

type Knowledge = {
  account: string
  id: string
  labels: Map<string, number>
  minVersions: MinVersion[]
  purges: RecordedCall[]
  deletedAt: number
  /** Faults that cut an edge off. */
  cuts: Fault[]
}

function knowledgeOf(records: Records, environment: string): Knowledge {
  const calls = records.calls.filter(({ about }) => about === environment)
  const deletions = deletionsOf(records.calls, environment).flatMap(({ operation }) => {
    const end = records.ended.get(operation)
    return end && end.error === undefined ? [end.at] : []
  })
  return {
    account: environment.split('/')[1] ?? '',
    id: idOf(environment),
    labels: new Map(calls.flatMap(({ upload }) => (upload ? [[upload.label, upload.version] as const] : []))),
    minVersions: minVersionsOf(records, environment),
    purges: calls.filter(({ kind, outcome }) => kind === 'purge' && outcome === 'acknowledged'),
    deletedAt: Math.min(Number.POSITIVE_INFINITY, ...deletions),
    cuts: records.faults.filter(({ edge }) => edge !== undefined),
  }
}

function crossed({ account, id, labels }: Knowledge, { status, marks, path }: Visit): string | undefined {
  if (status !== 200) return undefined
  if (!marks) return 'a visitor got a page that none of the apps made'
  if (marks.account !== account) return `a visitor got a page of another account: ${marks.account}`
  if (!labels.has(marks.label)) return `a visitor got a page of another environment: of the upload ${marks.label}`
  if (labels.get(marks.label) !== marks.version) return 'a visitor got a page whose version was never uploaded'
  if (marks.environment !== undefined && marks.environment !== id) return `a visitor got a page of ${marks.environment}`
  if (marks.path !== undefined && marks.path !== path) return `a visitor got a page of another path: ${marks.path}`
  return undefined
}

/** A visit may wait for an edge that is back, and get what became live meanwhile. */
function older({ minVersions, cuts }: Knowledge, visit: Visit): string | undefined {
  const { marks, begun, ended } = visit
  const atBegin = minVersions.findLast(({ since }) => since < begun)
  const meanwhile = minVersions.filter(({ since }) => since >= begun && since < ended)
  const minVersion = Math.min(atBegin?.version ?? 0, ...meanwhile.map(({ version }) => version))
  if (!marks || marks.version >= minVersion) return undefined
  if (isCutOff(cuts, visit, atBegin?.since)) return undefined
  return `a visitor got version ${marks.version} after version ${minVersion} had gone live`
}

/** An edge that is cut off from all control processes goes on with the deployments that it was told last. */
const isCutOff = (cuts: readonly Fault[], { edge, begun }: Visit, since = Number.NEGATIVE_INFINITY): boolean =>
  cuts.some((cut) => cut.edge === edge && cut.begun < begun && cut.ended > since)

/**
 * A page that was rendered before a purge was sent, and served to a request that began after the purge was
 * acknowledged.
 */
function purged({ purges }: Knowledge, { marks, begun, path }: Visit): string | undefined {
  const { rendered } = marks ?? {}
  if (rendered === undefined) return undefined
  const broken = purges.find((call) => call.ended < begun && rendered < call.begun && covers(call.purge, path))
  if (!broken) return undefined
  return `a visitor got a purged page: made ${Math.round(broken.begun - rendered)} ms before the purge by ${broken.caller}`
}

function covers({ paths, tags }: Purge = {}, path: string): boolean {
  if (!paths && !tags) return true
  return paths?.includes(path) === true || tags?.some((tag) => tag === 'everything' || tag === tagOf(path)) === true
}

export const tagOf = (path: string): string => `page-${path.slice(1)}`

function afterDeletion({ deletedAt, cuts }: Knowledge, visit: Visit): string | undefined {
  const isWrong = visit.status === 200 && visit.begun > deletedAt && !isCutOff(cuts, visit, deletedAt)
  return isWrong ? 'a visitor got a page after the environment was deleted' : undefined
}

type MinVersion = { since: number; version: number }

/**
 * The oldest version that visitors may get, and since when. It rises when an upload is known to be done, and falls as
 * soon as an older deployment is requested. An upload counts only if everything that could bring back an older version
 * was over when it was sent: operations of one environment run in the order of their requests.
 */
function minVersionsOf({ calls, ended }: Records, environment: string): MinVersion[] {
  const own = calls.filter(({ about, outcome }) => about === environment && outcome !== 'refused')
  const activations = own.filter(({ kind }) => kind === 'activate')
  const unsure = own.filter(({ upload, outcome }) => upload && outcome === 'unsure')
  const rises = own.flatMap((call): MinVersion[] => {
    const end = ended.get(call.operation)
    if (!call.upload || call.outcome !== 'acknowledged' || !end || end.error !== undefined) return []
    const mayFall = [...activations, ...unsure].some((other) => other.begun < end.at && other.ended > call.begun)
    return mayFall ? [] : [{ since: end.at, version: call.upload.version }]
  })
  const falls = activations.map(({ begun, activated }) => ({ since: begun, version: activated ?? 0, isFall: true }))
  const minVersions: MinVersion[] = []
  let minVersion = 0
  for (const step of [...rises, ...falls].sort((a, b) => a.since - b.since)) {
    minVersion = 'isFall' in step ? Math.min(minVersion, step.version) : Math.max(minVersion, step.version)
    minVersions.push({ since: step.since, version: minVersion })
  }
  return minVersions
}

export const minVersionAt = (records: Records, environment: string, at: number): number =>
  minVersionsOf(records, environment).findLast(({ since }) => since < at)?.version ?? 0

const describe = ({ edge, path, status, marks, cacheStatus, begun, ended }: Visit): string =>
  `edge ${edge + 1}, ${path}: ${status} after ${Math.round(ended - begun)} ms, ${cacheStatus} ${JSON.stringify(marks)}`
