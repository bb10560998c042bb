/** Describes what the cache has stored for a URL, for diagnostics. */

import { fieldOf } from '../fields/header-list.ts'
import { purgePathOf } from '../fields/tags.ts'
import { keyOf } from '../policy/key.ts'
import { decideUse } from '../policy/use.ts'
import { readVariant } from '../policy/vary.ts'
import type { Bodies } from './bodies.ts'
import { headersOf, type StoredResponse } from './object.ts'
import type { Store } from './store.ts'

export type StoredObject = {
  status: number
  /** When it was fetched, and when the app last confirmed that it is still valid; milliseconds since 1970. */
  storeTime: number
  validateTime: number
  ageSeconds: number
  lifetimeSeconds: number
  /** The header and directive that gave the lifetime, as `cache-control: s-maxage=60`. */
  lifetimeFrom: string
  isFresh: boolean
  /** The deployment that made it. */
  deployment: string
  bytes: number
  tags: string[]
  /** The request headers that its Vary names, with the values that it was stored for. */
  variant: Record<string, string>
  etag: string | null
  lastModified: string | null
  /**
   * SHA-256 of the body, in hexadecimal; null where the app has compressed it, or it is too large to be read for this.
   */
  digest: string | null
  /** How often it was sent. */
  hits: number
  place: 'memory' | 'disk'
}

export type Inspection = {
  stored: StoredObject[]
  /** The last purge that would have removed an object at this URL. */
  lastPurge: { time: number; by: 'all' | 'path' | 'tag' | 'switch' } | null
}

type Parts = { now(): number; store: Store; bodies: Pick<Bodies, 'read'> }

export function createInspect({ now, store, bodies }: Parts) {
  return async function inspect(environment: string, url: string): Promise<Inspection> {
    const { protocol, host, pathname, search } = new URL(url)
    const partition = store.partitionOf(environment)
    const scheme = protocol === 'https:' ? 'https' : 'http'
    const stored = store.variantsAt(
      partition,
      keyOf({ scheme, authority: host, target: pathname + search, headers: {} }),
    )
    const tags = stored.flatMap((found) => found.tags)
    const last = store.lastPurgeOf(partition, purgePathOf(pathname), tags)
    const described: StoredObject[] = []
    for (const found of stored) {
      described.push(describe(found, await bodies.read(found), now()))
      // There may be many, each with a megabyte to hash: requests are answered in between.
      await new Promise((resolve) => setImmediate(resolve))
    }
    return {
      stored: described,
      lastPurge: last ? { time: last.time, by: last.by } : null,
    }
  }
}

function describe(stored: StoredResponse, read: Buffer | undefined, nowMs: number): StoredObject {
  const { status, storeTime, validateTime, lifetime, deployment, size, tags, hits, body, variant } = stored
  const headers = headersOf(stored)
  const use = decideUse(lifetime, {}, nowMs, stored.bornMs)
  return {
    status,
    storeTime,
    validateTime,
    ageSeconds: use.ageSeconds,
    lifetimeSeconds: Math.floor(lifetime.freshMs / 1000),
    lifetimeFrom: lifetime.from,
    isFresh: use.kind === 'fresh',
    deployment,
    bytes: size,
    tags: [...tags],
    variant: readVariant(variant),
    etag: fieldOf(headers, 'etag') ?? null,
    lastModified: fieldOf(headers, 'last-modified') ?? null,
    digest: read && fieldOf(headers, 'content-encoding') === undefined ? digestOf(read) : null,
    hits,
    place: body ? 'memory' : 'disk',
  }
}

/** Loaded on first use: requests of visitors never need it. */
const digestOf = (body: Buffer): string =>
  process.getBuiltinModule('node:crypto').createHash('sha256').update(body).digest('hex')
