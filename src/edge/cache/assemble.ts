/** Assembles the cache: the store, the disk below it, fetches and purges. */

import type { IncomingMessage } from 'node:http'
import type { Forwarded } from '../http/forwarded.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { Instances } from '../proxy/upstream/instances.ts'
import type { Routed } from '../routes.ts'
import { createAppliedPurges } from './applied-purges.ts'
import { createCache } from './cache.ts'
import type { Disk } from './disk/index.ts'
import { fieldOf, type HeaderList } from './fields/header-list.ts'
import { purgePathOf } from './fields/tags.ts'
import type { NewestPurges } from './newest-purges.ts'
import { createJudge } from './policy/judge.ts'
import { keyOf } from './policy/key.ts'
import { isTagged } from './policy/learned.ts'
import { createBodies } from './store/bodies.ts'
import { createInspect } from './store/inspect.ts'
import { fromMeta } from './store/object.ts'
import { createPeek } from './store/peek.ts'
import type { Purge } from './store/purge.ts'
import { createStore } from './store/store.ts'

/** With 0 `diskBytes` an existing folder is emptied and not used; with an empty `folder` there is no disk at all. */
export type CacheSettings = { memoryBytes: number; folder: string; diskBytes: number }

type Parts = {
  limits: Limits
  instances: Instances
  forwarded: Forwarded
  newestPurges: NewestPurges
  report(error: unknown): void
  now?(): number
  /** Where it returns false, the app is asked before each use of a stored response. */
  mayUseStored?(): boolean
}

/** `keptSeconds`: how long pages are kept by their content; 0 where they are not. */
type Current = { deployment: string | undefined; isStatic: boolean; keptSeconds: number }

/** A purge as it is written to the disk; `n` is its number. */
type Note = Purge & { n: number; by: 'all' | 'switch' }

/** Until `open` sets the configured size. */
const MEMORY_BYTES = 256 * 1024 * 1024

/** Deployments without a process, of which nothing is stored. */
const STATIC: ReadonlySet<Routed['kind']> = new Set(['static', 'unfetched', 'unavailable'])

export function assembleCache(parts: Parts) {
  const { limits, instances, forwarded, report, newestPurges, now = Date.now, mayUseStored = () => true } = parts
  let disk: Disk | undefined
  const applied = createAppliedPurges(report)
  const store = createStore({
    maxBytes: MEMORY_BYTES,
    now,
    isOnDisk: ({ place }) => place !== undefined && (disk?.isThere(place) ?? false),
  })
  const bodies = createBodies({ store, disk: () => disk, report })
  const judge = createJudge({ now, store, bodies })
  const cache = createCache({ limits, now, mayUseStored, store, bodies, judge, instances, forwarded, newestPurges })

  /**
   * False: after a restart the purged objects could come back, because the disk could neither record the purge nor be
   * invalidated.
   */
  function purge(what: Purge, by: 'all' | 'switch' = 'all'): boolean {
    const n = store.purge(what, { by })
    return notesOf({ ...what, n, by }).every((note) => disk?.note(JSON.stringify(note)) ?? true)
  }

  /** What answers for each environment. */
  const current = new Map<string, Current>()

  /** The deployment of the objects that were recovered after a restart: which one was live meanwhile is not known. */
  function ofBefore(environment: string, keptSeconds: number): Current | undefined {
    const { deployment } = store.partitionOf(environment)
    if (deployment === undefined) return undefined
    // A change of content would not find what was stored before its content was looked at.
    const isKnown = keptSeconds === 0 || store.isEvery(environment, ({ tags }) => isTagged(tags))
    return { deployment, isStatic: false, keptSeconds: isKnown ? keptSeconds : 0 }
  }

  return {
    ...cache,

    /** Before the first request: recovers what was stored before a restart, except what was purged. */
    async open({ memoryBytes: max, folder, diskBytes }: CacheSettings): Promise<void> {
      store.resize(max)
      if (folder === '') return
      const { openDisk } = await import('./disk/index.ts')
      // Without space, the disk is emptied: it would not record the purges from now on.
      const opened = await openDisk({
        folder,
        maxBytes: diskBytes,
        report,
        onPut(place, meta) {
          const { environment, stored } = fromMeta(meta, place)
          store.put(store.partitionOf(environment), stored)
        },
        onNote(text) {
          const { n, by, ...what }: Note = JSON.parse(text)
          store.purge(what, { by, number: n })
        },
      })
      if (diskBytes === 0) return opened.close()
      disk = opened
      applied.open(folder)
      newestPurges.begin(applied.last())
    },

    close: async () => disk?.close(),

    /** `number` is that of the control process. */
    purge(what: Purge, number?: number): boolean {
      const isDone = purge(what)
      if (isDone && number !== undefined) {
        applied.add(number)
        newestPurges.add(what.environment, number)
      }
      return isDone
    },

    /** The purges up to this number are not known. */
    purgeEverything(number: number): boolean {
      const isDone = store.environments().every((environment) => purge({ environment }))
      if (isDone) {
        applied.set(number)
        newestPurges.begin(number)
      }
      return isDone
    },

    appliedPurge: applied.last,

    /**
     * Another deployment answers for an environment: the responses of the one before it are purged, now that it gets no
     * more requests. Static files need no purge, because they are found by the new deployment's own manifest.
     */
    useTargets(targets: readonly Routed[]) {
      for (const target of targets) {
        if (target.kind === 'redirect') continue
        const { environment } = target
        const keptSeconds = ('learned' in target && target.learned?.maxAgeSeconds) || 0
        const old = current.get(environment) ?? ofBefore(environment, keptSeconds)
        const isKeptOtherwise = old !== undefined && old.keptSeconds !== keptSeconds
        if (target.kind === 'awaited') {
          // It is the same deployment as before the restart: `ofBefore` finds it by its objects.
          if (isKeptOtherwise) purge({ environment }, 'switch')
          if (old) current.set(environment, { ...old, keptSeconds })
          continue
        }
        const next = {
          deployment: target.kind === 'empty' ? undefined : target.deployment,
          isStatic: STATIC.has(target.kind),
          keptSeconds,
        }
        current.set(environment, next)
        const isAnother = old !== undefined && old.deployment !== next.deployment && !(old.isStatic && next.isStatic)
        if (isAnother || isKeptOtherwise) purge({ environment }, 'switch')
      }
    },

    /** The edge does not answer for these environments any more. */
    forget(environments: readonly string[]) {
      for (const environment of environments) {
        if (current.delete(environment)) purge({ environment })
        store.forget(environment)
        newestPurges.forget(environment)
      }
    },

    /** Forgets all other environments, also those that were recovered from the disk. */
    keepOnly: store.keepOnly,

    /** An unsafe request has succeeded: RFC 9111, section 4.4. */
    invalidate({ authority, path, request }: Visit, { environment }: Routed, status: number, headers: HeaderList) {
      if (status < 200 || status >= 400) return
      const partition = store.partitionOf(environment)
      const { protocol } = forwarded.visitorOf(request)
      const changed = [path, ...sameOrigin(headers, protocol, authority, path)]
      // Only what may be stored is purged. Otherwise any client could make us write to the disk at will.
      const stored = changed.filter((target) => {
        const key = keyOf({ scheme: protocol, authority, target, headers: NO_HEADERS })
        return store.mayContain(partition, key, purgePathOf(target)) || cache.isFetching(environment, target)
      })
      if (stored.length > 0) purge({ environment, paths: stored.map(purgePathOf) })
    },

    /** For the fast path. */
    peek: createPeek({ now, mayUseStored, store, forwarded }),
    inspect: createInspect({ now, store, bodies }),
  }
}

export type EdgeCache = ReturnType<typeof assembleCache>

/** Of the names in one note: even with their JSON escapes they fit into the longest note that the disk accepts. */
const MAX_NOTE_LENGTH = 32 * 1024

/**
 * Long lists are written as several notes. A note that is too long invalidates the whole disk, and the list of one
 * environment must not cost the others what they have stored.
 */
function notesOf(note: Note): Note[] {
  const { environment, n, by, paths, tags } = note
  if (paths === undefined && tags === undefined) return [note]
  return [
    ...inParts(paths ?? []).map((part) => ({ environment, n, by, paths: part })),
    ...inParts(tags ?? []).map((part) => ({ environment, n, by, tags: part })),
  ]
}

function inParts(names: readonly string[]): string[][] {
  const parts: string[][] = []
  let length = MAX_NOTE_LENGTH
  for (const name of names) {
    if (length + name.length > MAX_NOTE_LENGTH) {
      parts.push([])
      length = 0
    }
    parts.at(-1)?.push(name)
    length += name.length
  }
  return parts
}

const NO_HEADERS: IncomingMessage['headers'] = {}

/**
 * Other URLs that the response names as changed, of the same origin only: an app must not invalidate those of another.
 */
function sameOrigin(headers: HeaderList, scheme: string, authority: string, path: string): string[] {
  const targets: string[] = []
  for (const name of ['location', 'content-location']) {
    const value = fieldOf(headers, name)
    const url = value === undefined ? null : URL.parse(value, `${scheme}://${authority}${path}`)
    if (url && url.host === authority.toLowerCase() && url.protocol === `${scheme}:`)
      targets.push(url.pathname + url.search)
  }
  return targets
}
