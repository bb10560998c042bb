/** The events that led to what visitors see, as one list, the newest last. Pure. */
import { purgedInWords, toRfc3339 } from '../../base/index.ts'
import { type Build, bytesInWords, secondsInWords } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Operation } from '../../operations/index.ts'
import type { PurgeRecord } from '../purges.ts'
import { compare, type Facts, type Live, type Origin, type Stored, spanInWords } from './facts.ts'

export type Event = {
  time: number
  what: resources.TracedEvent
  detail: string
  about?: { kind: 'build' | 'deployment' | 'operation'; id: string }
}

const MAX_PURGES = 5
const MAX_STORED = 10
/** A purge is recorded after the edge has done it: two records within this time are the same purge. */
const SAME_PURGE_MS = 10_000

export function timelineOf(facts: Facts): Event[] {
  const { now, live, lastBuild, lastOperation, inspection, purges, origin } = facts
  const events: Event[] = []
  if (live) events.push(...ofBuild(live.build, now, live.time), ...ofLive(live))
  if (lastBuild && lastBuild.id !== live?.build.id) events.push(...ofBuild(lastBuild, now))
  if (lastOperation && !isShown(lastOperation, live, lastBuild)) events.push(ofOperation(lastOperation))
  events.push(...purges.slice(0, MAX_PURGES).map(ofPurge))
  const last = inspection?.lastPurge
  const isKnown = last && purges.some(({ time }) => Math.abs(time - last.time) < SAME_PURGE_MS)
  // Files are not served from the cache.
  const isOfCache = origin.kind === 'APP' || origin.kind === 'SILENT'
  if (last && !isKnown && isOfCache) events.push({ time: last.time, what: 'PURGE', detail: BY_THE_EDGE[last.by] })
  for (const stored of inspection?.stored.slice(0, MAX_STORED) ?? []) events.push(...ofStored(stored, now))
  events.push({ time: now, what: 'NOW', detail: nowOf(facts, origin) })
  return events.toSorted((a, b) => a.time - b.time || ORDER.indexOf(a.what) - ORDER.indexOf(b.what))
}

/** The order of events of the same millisecond. */
const ORDER: readonly resources.TracedEvent[] = [
  'TRIGGER',
  'BUILD',
  'LIVE',
  'PURGE',
  'STORED',
  'VALIDATED',
  'EXPIRED',
  'NOW',
]

const ASKED: Record<resources.Trigger, string> = {
  CREATE: 'The environment was created.',
  UPDATE: 'The environment was changed.',
  DELETE: 'The environment is to be deleted.',
  UPLOAD: 'An archive was uploaded.',
  REBUILD: 'A Rebuild was asked for.',
  CLEAN_REBUILD: 'A Clean Rebuild was asked for.',
  ACTIVATE: 'An earlier deployment was to be made live again.',
  PROMOTE: 'What was live in another environment was to be made live here.',
  PURGE_CACHE: 'The cache was to be cleared.',
}

/** The end of a build is recorded after the switch, although it was before it. */
function ofBuild(build: Build, now: number, liveTime = Number.POSITIVE_INFINITY): Event[] {
  const { id, trigger, createTime, startTime, finishTime } = build
  const about = { kind: 'build', id } as const
  const asked: Event = { time: createTime, what: 'TRIGGER', detail: ASKED[trigger], about }
  const time = Math.min(finishTime ?? startTime ?? now, Math.max(liveTime, createTime))
  return [asked, { time, what: 'BUILD', detail: endOf(build), about }]
}

function endOf(build: Build): string {
  const { state, phase, failure, isUnchanged, isHeld, suspected, fromSnapshot, durations } = build
  const took = secondsInWords(Object.values(durations).reduce((sum, ms) => sum + ms, 0))
  switch (state) {
    case 'QUEUED':
      return 'The build waits for its turn.'
    case 'RUNNING':
      return `The build is under way (${phase}).`
    case 'CANCELLED':
      return 'The build was cancelled, or a newer one took its place.'
    case 'FAILED':
      return `The build failed (${failure?.reason ?? 'INTERNAL'}): ${failure?.message ?? ''}`
    case 'SUCCEEDED':
      if (isHeld)
        return `It was built in ${took} and held, so it did not go live. ${suspected?.sentences.join(' ') ?? ''}`
      return [
        isUnchanged
          ? `It was built in ${took} with the output that visitors already get: nothing was switched.`
          : `It was built in ${took}.`,
        ...(fromSnapshot ? [`The CMS was down, so its content is of ${toRfc3339(fromSnapshot.time)}.`] : []),
      ].join(' ')
  }
}

function ofLive({ deployment, time, by }: Live): Event[] {
  const about = { kind: 'deployment', id: deployment } as const
  const detail = 'The deployment went live: from then on visitors are sent to it.'
  const asked = by ? [ofOperation(by)] : []
  return [...asked, { time, what: 'LIVE', detail, about }]
}

/** Whether other events of the list show what this operation did. */
function isShown({ id, trigger }: Operation, live: Live | undefined, lastBuild: Build | undefined): boolean {
  if (trigger === 'PURGE_CACHE' || id === live?.by?.id) return true
  return id === live?.build.operationId || id === lastBuild?.operationId
}

function ofOperation({ id, trigger, createTime, doneTime, error }: Operation): Event {
  const end = error ? ` That failed: ${error.message}` : doneTime === null ? ' That is under way.' : ''
  return {
    time: createTime,
    what: 'TRIGGER',
    detail: `${ASKED[trigger]}${end}`,
    about: { kind: 'operation', id },
  }
}

const ASKED_BY: Record<resources.TriggerSource, string> = {
  API: 'a call of the API',
  SCHEDULE: 'a schedule',
  REPOSITORY: 'the connected repository',
  PUSH: 'a push',
  APP: 'the app itself',
  SERVICE: 'the service',
  WEBHOOK: 'a webhook',
}

function ofPurge({ time, what, count, source }: PurgeRecord): Event {
  if (what.content) {
    const named = what.content.join(', ')
    return { time, what: 'PURGE', detail: `What shows ${named} was purged, by ${ASKED_BY[source]}.` }
  }
  const named = purgedInWords(what.paths ?? [], what.tags ?? [])
  const rest = count - (what.paths?.length ?? 0) - (what.tags?.length ?? 0)
  const all = named.length > 0 ? `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}` : 'Everything'
  const isOne = named.length + Math.max(0, rest) <= 1 && !named[0]?.startsWith('all ')
  const verb = isOne ? 'was' : 'were'
  return { time, what: 'PURGE', detail: `${all} ${verb} purged, by ${ASKED_BY[source]}.` }
}

const BY_THE_EDGE: Record<'all' | 'path' | 'tag' | 'switch', string> = {
  all: 'Everything was purged.',
  path: 'This path was purged.',
  tag: 'A tag of this page was purged.',
  switch: 'The switch purged everything that was stored before it.',
}

function ofStored(stored: Stored, now: number): Event[] {
  const { status, bytes, storeTime, validateTime, lifetimeSeconds, lifetimeFrom, ageSeconds, isFresh } = stored
  const lifetime = `for ${spanInWords(lifetimeSeconds * 1000)} (${lifetimeFrom})`
  const events: Event[] = [
    {
      time: storeTime,
      what: 'STORED',
      detail: `The edge stored a copy (status ${status}, ${bytesInWords(bytes)}), to be used ${lifetime}.`,
      about: { kind: 'deployment', id: stored.deployment },
    },
  ]
  if (validateTime > storeTime)
    events.push({ time: validateTime, what: 'VALIDATED', detail: 'The app confirmed that the copy is still valid.' })
  // The time is known to the second only, and cannot be before it was stored.
  const staleTime = Math.max(validateTime, storeTime, now - (ageSeconds - lifetimeSeconds) * 1000)
  if (!isFresh) events.push({ time: Math.min(staleTime, now), what: 'EXPIRED', detail: 'The copy became stale.' })
  return events
}

function nowOf({ inspection }: Facts, origin: Origin): string {
  if (!inspection) return `${inWords(origin)} The edge does not answer at the moment.`
  const [stored, ...more] = inspection.stored
  if (!stored || origin.kind !== 'APP') return inWords(origin)
  if (more.length > 0)
    return `${inWords(origin)} ${more.length + 1} copies are stored, which differ by request headers.`
  const comparisons = { SAME: 'is the same', DIFFERENT: 'is another', UNKNOWN: 'cannot be compared with it' }
  return `${inWords(origin)} The stored copy ${comparisons[compare(stored, origin)]}.`
}

/** What the live deployment answers, as a sentence. */
export function inWords(origin: Origin): string {
  switch (origin.kind) {
    case 'NOTHING':
      return 'Nothing is deployed.'
    case 'FILE':
      return `The live deployment has the file ${origin.file} (${bytesInWords(origin.bytes)}) for it, with status ${origin.status}.`
    case 'REDIRECT':
      return `The live deployment sends visitors on to ${origin.location}.`
    case 'MISSING':
      return 'The live deployment has no file for it.'
    case 'APP':
      return `Asked past the cache, the app answers with status ${origin.status}${origin.body ? ` and ${bytesInWords(origin.body.bytes)}` : ''}.`
    case 'SILENT':
      return `The app ${origin.why}, and was not asked.`
  }
}
