/**
 * Answers "why do I see this version?" for an address: what is stored at the edge, what is live, what the live deployment
 * answers now, and the events that led there. It only reads: nothing is changed, fetched into the cache or woken.
 */
import type { Domains, EnvironmentHead } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Builds, Outputs } from '../../builds/index.ts'
import { fieldInvalid, Problem, type resources } from '../../contract/index.ts'
import type { Edges } from '../../edge/index.ts'
import type { Operation, Operations } from '../../operations/index.ts'
import type { Instances } from '../../runtime/index.ts'
import { type Sql, toPage } from '../../storage/index.ts'
import type { SiteUrl } from '../describe.ts'
import type { Purges } from '../purges.ts'
import type { Deployments } from '../records/deployments.ts'
import { addressOf } from './address.ts'
import { compare, type Facts, type Live, type Origin, type Stored } from './facts.ts'
import { createAskOrigin } from './origin.ts'
import { type Event, inWords, timelineOf } from './timeline.ts'
import { verdictOf } from './verdict.ts'

/** The operation that made the live deployment live is searched among this many. */
const OPERATIONS_READ = 50
/** An edge that died is back within this time. */
const EDGE_TIMEOUT_MS = 3000

type Parts = {
  sql: Sql
  clock: Clock
  domains: Pick<Domains, 'of'>
  builds: Builds
  deployments: Deployments
  operations: Operations
  outputs: Outputs
  instances: Instances
  edges: Pick<Edges, 'inspect' | 'isServing'>
  purges: Pick<Purges, 'last'>
  siteUrl: SiteUrl
}

export type Traced = {
  url: string
  verdict: string
  live: Live | undefined
  stored: (Stored & { comparison: resources.Comparison })[]
  /** What the live deployment answers, and the same in words. */
  origin: Origin & { detail: string }
  timeline: Event[]
}

export type Trace = (environment: EnvironmentHead, given: string, signal: AbortSignal) => Promise<Traced>

export function createTrace(parts: Parts): Trace {
  const { sql, clock, domains, builds, deployments, operations, edges, purges, siteUrl } = parts
  const askOrigin = createAskOrigin(parts)

  async function liveOf(environment: EnvironmentHead, recent: readonly Operation[]): Promise<Live | undefined> {
    const { id, accountId, liveDeployment } = environment
    const deployment = liveDeployment ? await deployments.find(sql, liveDeployment) : undefined
    if (!deployment) return undefined
    const build = await builds.require({ accountId, environmentId: id }, deployment.buildId)
    const madeLive = recent.find(
      (one) => one.deployment === deployment.id && !one.isUnchanged && one.doneTime !== null && one.error === null,
    )
    const isBuilt = madeLive === undefined || madeLive.id === build.operationId
    const time = (isBuilt ? deployment.liveTime : madeLive.doneTime) ?? deployment.createTime
    return { deployment: deployment.id, build, time, by: isBuilt ? undefined : madeLive }
  }

  /** Undefined if the edge does not answer, or follows another control process: the other facts are still useful. */
  async function inspect(environmentId: string, url: URL, signal: AbortSignal): Promise<Facts['inspection']> {
    if (!edges.isServing()) return undefined
    const late = AbortSignal.timeout(EDGE_TIMEOUT_MS)
    return edges.inspect(environmentId, url.href, AbortSignal.any([signal, late])).catch((error) => {
      if (late.aborted && !signal.aborted) return undefined
      throw error
    })
  }

  return async function trace(environment, given, signal) {
    const { id, accountId, appName, hostLabel, state } = environment
    if (state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
    if (hostLabel === null) throw fieldInvalid('url', 'the environment has no host yet: it is being created')
    const custom = (await domains.of([id])).get(id) ?? []
    const url = addressOf(given, siteUrl(hostLabel), custom)
    const path = { accountId, environmentId: id, appName }
    const { items: recent } = await operations.list(path, toPage({ pageSize: OPERATIONS_READ }))
    const { items: newest } = await builds.list(path, toPage({ pageSize: 1 }))
    const live = await liveOf(environment, recent)
    const facts: Facts = {
      live,
      lastBuild: newest[0],
      lastOperation: recent[0],
      purges: await purges.last(id, 5),
      inspection: await inspect(id, url, signal),
      origin: live ? await askOrigin(live.deployment, live.build, url, signal) : { kind: 'NOTHING' },
      now: clock.now(),
    }
    const { origin, inspection } = facts
    return {
      url: url.href,
      verdict: verdictOf(facts),
      live,
      stored: inspection?.stored.map((one) => ({ ...one, comparison: compare(one, origin) })) ?? [],
      origin: { ...origin, detail: inWords(origin) },
      timeline: timelineOf(facts),
    }
  }
}
