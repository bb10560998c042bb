/** A stored response. A million of them must fit, so it holds its headers as one string and little else. */
import type { Place } from './disk/index.ts'
import type { Lifetime } from './freshness.ts'
import type { HeaderList } from './header-list.ts'

export type StoredResponse = {
  /** What it is found by within its environment. */
  readonly key: string
  /** Its path as purges name it. */
  readonly path: string
  /** The values of the request headers that it varies by; '' where it varies by none. */
  readonly variant: string
  readonly vary: readonly string[] | undefined
  readonly status: number
  readonly reason: string
  /** Names and values with line feeds between them, which neither can have. */
  head: string
  lifetime: Lifetime
  /** The deployment that made it: with another one live, it is not used. */
  readonly deployment: string
  readonly tags: readonly string[]
  /** The CDN-Cache-Control that it came with, which is for us and is not sent on. */
  readonly targeted: string | undefined
  /** The number of the last purge when its fetch began: purges with a higher one take it away. */
  readonly purgeNumber: number
  storeTime: number
  validateTime: number
  size: number
  /** Undefined while it is on the disk alone. */
  body: Buffer | undefined
  /** Where it is on the disk, if it is. */
  place: Place | undefined
  /** Compressed forms, made once, when somebody wants one; `null` where it is not worth it. */
  br: Buffer | null | undefined
  gzip: Buffer | null | undefined
  hits: number
  /** Used since the last time that something had to go. */
  isUsed: boolean
}

export const packHeaders = (headers: HeaderList): string => headers.join('\n')

export const headersOf = ({ head }: Pick<StoredResponse, 'head'>): string[] => (head === '' ? [] : head.split('\n'))

/** What an object takes beside its bodies: strings, the object itself, and its place in maps. Measured, rounded up. */
const OVERHEAD_BYTES = 512

/** What it counts in memory. */
export function weightOf({ key, head, tags, body, br, gzip }: StoredResponse): number {
  let weight = OVERHEAD_BYTES + key.length + head.length + (body?.length ?? 0) + (br?.length ?? 0) + (gzip?.length ?? 0)
  for (const tag of tags) weight += tag.length + 16
  return weight
}

/** The object without its body, as it is written down beside it. */
export function toMeta(environment: string, stored: StoredResponse): string {
  const { size, body, place, br, gzip, hits, isUsed, ...written } = stored
  return JSON.stringify({ environment, ...written, isCompressible: br !== null || gzip !== null })
}

export function fromMeta(meta: string, place: Place): { environment: string; stored: StoredResponse } {
  const { environment, isCompressible, ...written } = JSON.parse(meta)
  const form = isCompressible ? undefined : null
  const unread = { size: place.bodyBytes, body: undefined, place, br: form, gzip: form, hits: 0, isUsed: false }
  return { environment, stored: { vary: undefined, targeted: undefined, ...written, ...unread } }
}
