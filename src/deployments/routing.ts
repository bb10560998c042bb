/**
 * Keeps the routes of all edges in step with the database. Code that changes what visitors get calls
 * `touch` in the same transaction and `publish` after it; other processes see the new revision and follow within a second.
 * A change costs the same however many environments there are: only those that were touched are read and sent.
 */
import type { Environments } from '../apps/index.ts'
import {
  type Changes,
  type Clock,
  type Log,
  type Repetition,
  repeat,
  settlesWithin,
  systemClock,
} from '../base/index.ts'
import type { EdgeMember, Edges } from '../edge/index.ts'
import type { Transaction } from '../storage/index.ts'
import { createReadRoutes, type RouteParts } from './read-routes.ts'

const FOLLOW_MS = 1000

/** Followers of no account, but of routes. */
const HINTS = 'routes'

/** The next publication does not wait longer for the edges of this one: files on their way to one keep no other change back. */
const CONFIRM_MS = 500

/** The pause after a publication is as long as it took, up to this: a client that causes them in a loop gets half the time at most. */
const MAX_PAUSE_MS = 1000

/** With more changes than this, everything is read instead. */
const MAX_CHANGES = 1000

type Parts = RouteParts & {
  clock: Clock
  log: Log
  environments: Pick<Environments, 'routesRevision' | 'routesChangedSince' | 'touchRoutes'>
  edges: Pick<Edges, 'setRoutes' | 'serving' | 'onConnected'>
  /** Other control processes, where several may use the database. */
  others?: OtherControls | undefined
}

export type OtherControls = Pick<Edges, 'routed' | 'untilOthersRouted'> & {
  /** Tells of changes by other processes. */
  changes: Pick<Changes, 'follow'>
}

export function createRouting(parts: Parts) {
  const { clock, log, environments, edges, others } = parts
  const readRoutes = createReadRoutes(parts)
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined
  /** The newest that was sent. */
  let publishedRevision = -1
  let pauseUntil = 0
  const stopping = new AbortController()

  /** Resolves when everything is sent, to what resolves when all edges use it. */
  async function publishOnce(): Promise<{ used: Promise<unknown> }> {
    // The revision is read before the rows: a change in between is published twice, and never missed.
    const revision = await environments.routesRevision()
    const behind = Map.groupBy(edges.serving(), (edge) => edge.sentRevision)
    const used: Promise<unknown>[] = []
    for (const [since, group] of behind) {
      if (since !== revision) used.push(...(await send(group, since, revision)))
      else for (const edge of group) used.push(confirmed(edge, revision))
    }
    publishedRevision = revision
    return { used: Promise.all(used).then(() => others?.routed(revision)) }
  }

  /** It was sent the routes of now. */
  async function confirmed(edge: EdgeMember, revision: number) {
    if (edge.revision === revision) edge.isRouted = true
    else await edge.routed
  }

  async function send(group: readonly EdgeMember[], since: number | null, revision: number): Promise<Promise<void>[]> {
    // One that is ahead has followed another database, as before a backup was restored.
    const changed = since === null || since > revision ? undefined : await changedSince(since)
    const sent = { routes: await readRoutes(changed), isWhole: changed === undefined, revision }
    return group.map((edge) => edges.setRoutes(edge, sent))
  }

  async function changedSince(revision: number): Promise<string[] | undefined> {
    const changed = await environments.routesChangedSince(revision, MAX_CHANGES + 1)
    return changed.length > MAX_CHANGES ? undefined : changed
  }

  /** Resolves when all edges use routes that were read after this call, also those of other control processes. */
  async function publish(): Promise<void> {
    await publishHere()
    await others?.untilOthersRouted(publishedRevision, stopping.signal)
  }

  /** Calls during a publication share the next one. */
  function publishHere(): Promise<void> {
    next ??= pause().then(async () => {
      next = undefined
      const began = performance.now()
      const sending = publishOnce()
      current = sending
        .then(({ used }) => settlesWithin(systemClock, used, CONFIRM_MS))
        .catch((error) => {
          // It is repeated soon: an edge that has just connected would otherwise wait for the next change of a route.
          publishedRevision = -1
          throw error
        })
        .finally(() => {
          pauseUntil = performance.now() + Math.min(performance.now() - began, MAX_PAUSE_MS)
        })
      await current
      await (await sending).used
    })
    return next
  }

  async function pause() {
    await current.catch(() => undefined)
    const pauseMs = pauseUntil - performance.now()
    if (pauseMs >= 1) await systemClock.sleep(pauseMs, stopping.signal)
  }

  async function publishChanges() {
    try {
      if ((await environments.routesRevision()) !== publishedRevision) await publishHere()
    } catch (error) {
      reportFailure(error)
    }
  }

  function reportFailure(error: unknown) {
    if (!stopping.signal.aborted) log.error({ err: error }, 'the edges could not be given their routes')
  }

  let following: Repetition | undefined
  let forgetEdges: (() => void) | undefined
  let forgetHints: (() => void) | undefined

  return {
    publish,
    /** What visitors of this environment get has changed. */
    async touch(tx: Transaction, environmentId: string): Promise<void> {
      await environments.touchRoutes(tx, environmentId)
      if (others) tx.notify(HINTS, environmentId)
    },
    async start() {
      forgetEdges = edges.onConnected(() => void publishHere().catch(reportFailure))
      await publishHere()
      // A hint, which may be lost.
      forgetHints = others?.changes.follow(HINTS, () => void publishChanges())
      following = repeat(clock, FOLLOW_MS, publishChanges)
    },
    async stop() {
      forgetEdges?.()
      forgetHints?.()
      stopping.abort(new Error('the service is stopping'))
      await following?.stop()
      await current.catch(() => undefined)
    },
  }
}

export type Routing = ReturnType<typeof createRouting>
