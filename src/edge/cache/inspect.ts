/** What the cache holds for an address, for people who ask why they see what they see. */

export type StoredObject = {
  status: number
  /** When it was fetched, and when the app last said that it is still right; milliseconds since 1970. */
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
  /** The request headers that it was chosen by, where the response named some. */
  variant: Record<string, string>
  etag: string | null
  lastModified: string | null
  /** How often it was the answer. */
  hits: number
  place: 'memory' | 'disk'
}

export type Inspection = {
  stored: StoredObject[]
  /** The last time that something was purged which would have taken an object at this address with it. */
  lastPurge: { time: number; by: 'all' | 'path' | 'tag' | 'switch' } | null
}
