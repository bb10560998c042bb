/** Puts the parts of the cache together: what is stored, the disk behind it, who fetches, and what makes things go. */
import type { IncomingMessage } from 'node:http'
import type { Forwarded } from '../http/forwarded.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { Instances } from '../proxy/upstream/instances.ts'
import type { Routed, Routes } from '../routes.ts'
import { createCache } from './cache.ts'
import type { Disk } from './disk/index.ts'
import { fieldOf, type HeaderList } from './fields/header-list.ts'
import { purgePathOf } from './fields/tags.ts'
import { createJudge } from './policy/judge.ts'
import { keyOf } from './policy/key.ts'
import { createBodies } from './store/bodies.ts'
import { createInspect } from './store/inspect.ts'
import { fromMeta } from './store/object.ts'
import { createPeek } from './store/peek.ts'
import type { Purge } from './store/purge.ts'
import { createStore } from './store/store.ts'

/** `diskBytes` is 0 for none; without a folder there is none to be emptied either. */
export type CacheSettings = { memoryBytes: number; folder: string; diskBytes: number }

type Parts = {
  limits: Limits
  instances: Instances
  forwarded: Forwarded
  report(error: unknown): void
  now?(): number
}

/** A purge as it is written down; `n` is its number. */
type Note = Purge & { n: number; by: 'all' | 'switch' }

/** Until somebody says how much it may be. */
const MEMORY_BYTES = 256 * 1024 * 1024

export function assembleCache({ limits, instances, forwarded, report, now = Date.now }: Parts) {
  let disk: Disk | undefined
  const store = createStore({
    maxBytes: MEMORY_BYTES,
    now,
    isOnDisk: ({ place }) => place !== undefined && (disk?.isThere(place) ?? false),
  })
  const bodies = createBodies({ store, disk: () => disk, report })
  const judge = createJudge({ now, store, bodies })
  const cache = createCache({ limits, now, store, bodies, judge, instances, forwarded })

  /** False: a restart could bring back what is gone now, because the disk can neither note it nor forget. */
  function purge(what: Purge, by: 'all' | 'switch' = 'all'): boolean {
    const n = store.purge(what, { by })
    return notesOf({ ...what, n, by }).every((note) => disk?.note(JSON.stringify(note)) ?? true)
  }

  /** Whose objects were found after a restart: what was live meanwhile, nobody knows. */
  function ofBefore(environment: string) {
    const { deployment } = store.partitionOf(environment)
    return deployment === undefined ? undefined : { deployment, isStatic: false }
  }

  return {
    ...cache,

    /** Before anything is asked for: what was stored before a restart is there again, without what was purged. */
    async open({ memoryBytes: max, folder, diskBytes }: CacheSettings): Promise<void> {
      store.resize(max)
      if (folder === '') return
      const { openDisk } = await import('./disk/index.ts')
      // One without room forgets what there is: it would not learn of the purges that come now.
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
      if (diskBytes > 0) disk = opened
      else await opened.close()
    },

    close: async () => disk?.close(),

    purge: (what: Purge) => purge(what),

    /**
     * Another deployment answers for an environment: what the one before it has made goes, now that nobody is sent to it.
     * Files need no purge. What is served of them is found by the new deployment's own list.
     */
    useRoutes(before: Routes, after: Routes) {
      const deployments = deploymentsOf(before)
      const environments = new Set<string>()
      for (const { environment } of after.values()) environments.add(environment)
      for (const [environment, target] of deploymentsOf(after)) {
        const old = deployments.get(environment) ?? ofBefore(environment)
        if (old && old.deployment !== target.deployment && !(old.isStatic && target.isStatic))
          purge({ environment }, 'switch')
      }
      for (const environment of deployments.keys()) if (!environments.has(environment)) purge({ environment })
      store.keepOnly(environments)
    },

    /** A request that may change what it was sent to has succeeded: RFC 9111, section 4.4. */
    invalidate({ authority, path, request }: Visit, { environment }: Routed, status: number, headers: HeaderList) {
      if (status < 200 || status >= 400) return
      const partition = store.partitionOf(environment)
      const { protocol } = forwarded.visitorOf(request)
      const changed = [path, ...sameOrigin(headers, protocol, authority, path)]
      // Nothing is written down of what is not there, or anybody could have us write at will.
      const stored = changed.filter((target) => {
        const key = keyOf({ scheme: protocol, authority, target, headers: NO_HEADERS })
        return store.mayHold(partition, key, purgePathOf(target)) || cache.isFetching(environment, target)
      })
      if (stored.length > 0) purge({ environment, paths: stored.map(purgePathOf) })
    },

    /** For the fast lane. */
    peek: createPeek({ now, store, forwarded }),
    inspect: createInspect({ now, store, bodies }),
  }
}

/** Of names in one note: with their escapes they are shorter than the longest that the disk takes. */
const MAX_NOTE_LENGTH = 32 * 1024

/**
 * Long lists are noted in several parts. What is too long for the disk makes it forget everything, and one environment's
 * list must not cost the others what they have stored.
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

function deploymentsOf(routes: Routes): Map<string, { deployment: string | undefined; isStatic: boolean }> {
  const found = new Map<string, { deployment: string | undefined; isStatic: boolean }>()
  for (const target of routes.values()) {
    // Whatever it is, it is the one from before the restart: its objects say which.
    if (target.kind === 'awaited' || target.kind === 'redirect') continue
    const deployment = target.kind === 'empty' ? undefined : target.deployment
    found.set(target.environment, { deployment, isStatic: target.kind === 'static' })
  }
  return found
}

/** What else the response says has changed, at this very origin: anybody else's is not this app's to invalidate. */
function sameOrigin(headers: HeaderList, scheme: string, authority: string, path: string): string[] {
  const targets: string[] = []
  for (const name of ['location', 'content-location']) {
    const said = fieldOf(headers, name)
    const url = said === undefined ? null : URL.parse(said, `${scheme}://${authority}${path}`)
    if (url && url.host === authority.toLowerCase() && url.protocol === `${scheme}:`)
      targets.push(url.pathname + url.search)
  }
  return targets
}
