/**
 * The log of requests to each environment: what edges report is appended to a file, which is limited in bytes and in age.
 * Requests are lost if the process is killed within moments of their report: they are a help in finding faults, and no proof.
 */
import { type Clock, type Log, maskPath, type Repetition, repeat } from '../base/index.ts'
import type { LineLogs, NumberedLine, Reader, RecordLog } from '../storage/index.ts'
import { createFilter, type RequestFilter } from './filter.ts'

/** As an edge reports it. */
export type ReportedRequest = {
  time: number
  method: string
  path: string
  parameters?: string[]
  status: number
  durationMs: number
  bytes: number
  cache: string
  outcome: string
  client?: string
  id?: string
  omitted?: number
}

export type RecordedRequest = ReportedRequest & NumberedLine

/** Those of the given environments that still exist. */
export type ExistingEnvironments = (reader: Reader, ids: readonly string[]) => Promise<ReadonlySet<string>>

type Parts = {
  sql: Reader
  clock: Clock
  log: Log
  logs: LineLogs
  existingEnvironments: ExistingEnvironments
  maxBytes: number
  maxAgeMs: number
}

type OpenLog = { opening: Promise<RecordLog | undefined>; usedTime: number; omitted: number }

const FOLDER = 'requests'
/** Each is an open file. Beyond it, the one that was not used for longest is closed. */
const MAX_OPEN = 256
const MINUTE_MS = 60_000
/** How often requests that are too old are removed from the disk. They are not shown in between. */
const SWEEP_MS = 60 * MINUTE_MS

export const requestLogName = (environmentId: string): string => `${FOLDER}/${environmentId}`

export function createRequestLog({ sql, clock, log, logs, existingEnvironments, maxBytes, maxAgeMs }: Parts) {
  const open = new Map<string, OpenLog>()
  let rounds: Repetition | undefined
  let sweepTime = Number.NEGATIVE_INFINITY

  /** Undefined for an environment that was deleted in the meantime. */
  async function openLog(environment: string): Promise<RecordLog | undefined> {
    const existing = await existingEnvironments(sql, [environment])
    return existing.has(environment) ? logs.openRecords(requestLogName(environment), maxBytes) : undefined
  }

  function logOf(environment: string): OpenLog {
    const known = open.get(environment) ?? { opening: openLog(environment), usedTime: 0, omitted: 0 }
    known.usedTime = clock.now()
    // In the order of their last use.
    open.delete(environment)
    open.set(environment, known)
    const [longestUnused] = open.keys()
    if (open.size > MAX_OPEN && longestUnused !== undefined) close(longestUnused).catch(report)
    return known
  }

  const report = (error: unknown) => log.error({ err: error }, 'requests could not be recorded')

  async function close(environment: string) {
    const found = open.get(environment)
    open.delete(environment)
    await (await found?.opening.catch(() => undefined))?.close()
  }

  async function append(environment: string, requests: readonly ReportedRequest[]) {
    const found = logOf(environment)
    const records = await found.opening.catch((error) => {
      // The next report tries again.
      if (open.get(environment) === found) open.delete(environment)
      throw error
    })
    if (!records) return void open.delete(environment)
    for (const request of requests) {
      const omitted = found.omitted + (request.omitted ?? 0)
      const isWritten = records.add(toRecord(request, omitted))
      found.omitted = isWritten ? 0 : omitted + 1
    }
  }

  async function closeIdle(olderThan: number) {
    for (const [environment, { usedTime }] of [...open]) if (usedTime <= olderThan) await close(environment)
  }

  async function tidy() {
    const now = clock.now()
    await closeIdle(now - MINUTE_MS)
    if (now - sweepTime < SWEEP_MS) return
    sweepTime = now
    for (const name of await logs.list(FOLDER)) await logs.removeOld(name, maxAgeMs, maxBytes)
  }

  const isTooOld = ({ time }: RecordedRequest): boolean => time < clock.now() - maxAgeMs

  return {
    /** Adds the report of an edge: requests by environment. */
    receive(reported: Readonly<Record<string, readonly ReportedRequest[]>>) {
      const appended = Object.entries(reported).map(([environment, requests]) => append(environment, requests))
      // One message for each report: where the database is away, all environments meet the same error.
      Promise.all(appended).catch(report)
    },

    /** The newest requests before this number, and whether there are more. */
    async list(
      environmentId: string,
      filter: RequestFilter,
      { before = Number.POSITIVE_INFINITY, size }: { before?: number | undefined; size: number },
    ): Promise<{ requests: RecordedRequest[]; isMore: boolean }> {
      const isWanted = createFilter(filter)
      const requests: RecordedRequest[] = []
      for await (const piece of logs.backwards<RecordedRequest>(requestLogName(environmentId), before)) {
        for (const request of piece) {
          if (isTooOld(request)) return { requests, isMore: false }
          if (!isWanted(request)) continue
          if (requests.length === size) return { requests, isMore: true }
          requests.push(request)
        }
      }
      return { requests, isMore: false }
    },

    /** The requests after this number, and then each new one. */
    async *follow(
      environmentId: string,
      filter: RequestFilter,
      { after, signal }: { after: number; signal: AbortSignal },
    ): AsyncGenerator<RecordedRequest> {
      const isWanted = createFilter(filter)
      const name = requestLogName(environmentId)
      for await (const request of logs.follow<RecordedRequest>(name, after, async () => false, signal))
        if (isWanted(request) && !isTooOld(request)) yield request
    },

    start() {
      rounds = repeat(clock, MINUTE_MS, () =>
        tidy().catch((error) => log.error({ err: error }, 'old requests could not be removed')),
      )
    },

    /** Resolves when everything is on the disk. */
    async stop() {
      await rounds?.stop()
      await closeIdle(Number.POSITIVE_INFINITY)
    },
  }
}

export type RequestLog = ReturnType<typeof createRequestLog>

/** Requests are not recorded any more: nothing of them stays. */
export async function forgetRequestLogs(logs: Pick<LineLogs, 'list' | 'remove'>) {
  for (const name of await logs.list(FOLDER)) await logs.remove(name)
}

/** Parts of a path that look like a secret or like a person's are masked before anything is written. */
function toRecord(request: ReportedRequest, omitted: number): ReportedRequest {
  const { path, parameters, omitted: _, ...others } = request
  return {
    ...others,
    path: maskPath(path),
    ...(parameters ? { parameters: parameters.map(maskPath) } : {}),
    ...(omitted > 0 ? { omitted } : {}),
  }
}
