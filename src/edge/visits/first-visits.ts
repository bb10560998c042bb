/**
 * Notes when visitors first got a page after a switch or a purge. Nothing is done for an environment that awaits none: its counts
 * have a flag, and that is all a response looks at.
 */
import { purgePathOf } from '../cache/fields/tags.ts'
import type { Purge } from '../cache/index.ts'
import type { Wire } from '../http/wire.ts'
import type { Routed } from '../routes.ts'

/** What the first page was answered by, or after: a deployment that went live, or a purge by the id of its publish. */
export type FirstVisit = ({ deployment: string } | { publish: string }) & {
  /** How long ago that was when it was reported: the clocks of two machines differ. */
  agoMs: number
}

export type PageAnswer = {
  /** Path and query. */
  target: string
  /** When the request came: one that came before the switch may have been answered by what was live before. */
  startMs: number
  /** Answered with what was stored: after a purge of tags, other pages still are. */
  isStored: boolean
}

type AwaitedPurge = {
  publish: string
  sinceMs: number
  /** Undefined where any page is a new one. */
  paths: ReadonlySet<string> | undefined
  hasTags: boolean
  /** Other pages that were answered since. */
  others: number
}
type Awaited = { deployment: string | undefined; sinceMs: number; purges: AwaitedPurge[] }

/**
 * With more purges before a visit, the oldest ones stay without one; so does one of pages that are not asked for among many
 * others, each of which costs a look. With more paths, any page will do.
 */
export const FIRST_VISIT_LIMITS = { purges: 8, paths: 50, others: 10_000 }

type Parts = {
  /** From now on, pages of this environment are to be reported to `answered`. */
  expect(environment: string): void
  now?(): number
}

export function createFirstVisits({ expect, now = () => performance.now() }: Parts) {
  /** The deployment that answers for each environment; an empty string for none. */
  const live = new Map<string, string>()
  const awaited = new Map<string, Awaited>()
  let noted = new Map<string, { of: { deployment: string } | { publish: string }; timeMs: number }[]>()

  function note(environment: string, of: { deployment: string } | { publish: string }) {
    const mine = noted.get(environment) ?? []
    noted.set(environment, mine)
    mine.push({ of, timeMs: now() })
  }

  function awaitedOf(environment: string): Awaited {
    const known = awaited.get(environment)
    if (known) return known
    const made: Awaited = { deployment: undefined, sinceMs: 0, purges: [] }
    awaited.set(environment, made)
    return made
  }

  return {
    isAwaited: (environment: string): boolean => awaited.has(environment),

    /** These targets answer from now on. An environment that was not known has had its visits before this process was started. */
    switched(targets: readonly Routed[]) {
      for (const target of targets) {
        if (target.kind === 'redirect') continue
        const { environment } = target
        const next = target.kind === 'empty' ? '' : target.deployment
        const before = live.get(environment)
        if (before === next) continue
        live.set(environment, next)
        if (before === undefined || next === '') continue
        Object.assign(awaitedOf(environment), { deployment: next, sinceMs: now() })
        expect(environment)
      }
    },

    /** One without a publish was not asked for by a trigger: apps, and requests that write, purge too. */
    purged({ environment, paths, tags, publish }: Purge) {
      if (publish === undefined || !live.has(environment)) return
      const { purges } = awaitedOf(environment)
      const isNamed = paths !== undefined && paths.length <= FIRST_VISIT_LIMITS.paths
      const isAny = (paths === undefined && tags === undefined) || (paths !== undefined && !isNamed)
      purges.push({
        publish,
        sinceMs: now(),
        paths: isAny ? undefined : new Set(paths?.map(purgePathOf)),
        hasTags: tags !== undefined,
        others: 0,
      })
      if (purges.length > FIRST_VISIT_LIMITS.purges) purges.shift()
      expect(environment)
    },

    forget(environments: readonly string[]) {
      for (const environment of environments) {
        live.delete(environment)
        awaited.delete(environment)
      }
    },

    /** A page was answered. Returns whether another one is awaited. */
    answered(environment: string, answer: PageAnswer): boolean {
      const mine = awaited.get(environment)
      if (!mine) return false
      if (mine.deployment !== undefined && answer.startMs >= mine.sinceMs) {
        note(environment, { deployment: mine.deployment })
        mine.deployment = undefined
      }
      mine.purges = mine.purges.filter((purge) => {
        if (!isAnsweredBy(purge, answer)) return ++purge.others < FIRST_VISIT_LIMITS.others
        note(environment, { publish: purge.publish })
        return false
      })
      if (mine.deployment !== undefined || mine.purges.length > 0) return true
      awaited.delete(environment)
      return false
    },

    /** Those since the last call, by environment. */
    take(): Map<string, FirstVisit[]> {
      const taken = new Map<string, FirstVisit[]>()
      for (const [environment, visits] of noted)
        taken.set(
          environment,
          visits.map(({ of, timeMs }) => ({ ...of, agoMs: Math.round(now() - timeMs) })),
        )
      if (noted.size > 0) noted = new Map()
      return taken
    },
  }
}

export type FirstVisits = ReturnType<typeof createFirstVisits>

function isAnsweredBy({ sinceMs, paths, hasTags }: AwaitedPurge, { target, startMs, isStored }: PageAnswer): boolean {
  if (startMs < sinceMs) return false
  return paths === undefined || paths.has(purgePathOf(target)) || (hasTags && !isStored)
}

const PAGE = /^(?:text\/html|application\/xhtml\+xml)\b/i
const PAGE_HEAD = /\r\ncontent-type: *(?:text\/html|application\/xhtml\+xml)\b/i

/** By the headers of `writeHead`: a list of names and values, or an object. */
export function isPageIn(headers: unknown): boolean {
  const list = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat()
  for (let at = 0; at < list.length; at += 2)
    if (String(list[at]).toLowerCase() === 'content-type') return PAGE.test(String(list[at + 1]))
  return false
}

/** By the bytes of a whole response. */
export const isPageWire = (wire: Wire): boolean =>
  PAGE_HEAD.test(
    wire instanceof Uint8Array ? wire.toString('latin1', 0, Math.max(0, wire.indexOf('\r\n\r\n'))) : wire.head,
  )
