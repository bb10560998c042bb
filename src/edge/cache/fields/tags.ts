/** The names by which purges find stored responses: their tags, and their path. */
import { trimBlanks } from '../../../http/index.ts'
import { fieldOf, type HeaderList } from './header-list.ts'

export type TagLimits = { tags: number; bytes: number }

export const TAG_LIMITS: TagLimits = { tags: 1000, bytes: 1024 }

/** Fields for caches, which are not forwarded: Cache-Tag, and the one that Next.js sends to its own cache. */
export const TAG_FIELDS = ['cache-tag', 'x-next-cache-tags']

/**
 * Commas separate the tags of Cache-Tag at Cloudflare, Google and Netlify, and of Akamai's Edge-Cache-Tag; spaces those
 * of Fastly's Surrogate-Key. None of them allows a comma or a space in a tag, so both separate everywhere; but tags of
 * Next.js may contain spaces. The fields of other CDNs are read so that an app written for one of them can be purged
 * unchanged, and they are forwarded, because that CDN may be in front of us.
 */
const SOURCES: readonly (readonly [field: string, tag: RegExp])[] = [
  ['cache-tag', /[^ \t,]+/g],
  ['surrogate-key', /[^ \t,]+/g],
  ['edge-cache-tag', /[^ \t,]+/g],
  ['x-next-cache-tags', /[^,]+/g],
]

/** Case-sensitive, without duplicates, within the limits. */
export function readTags(headers: HeaderList, limits = TAG_LIMITS): string[] {
  return collectTags(headers, limits).tags
}

/** `isComplete` is false when there were too many of them, or one that is too long. */
export function collectTags(headers: HeaderList, limits = TAG_LIMITS): { tags: string[]; isComplete: boolean } {
  const tags = new Set<string>()
  let isComplete = true
  let count = 0
  for (const [field, pattern] of SOURCES) {
    const value = fieldOf(headers, field)
    if (value === undefined) continue
    for (const [part] of value.matchAll(pattern)) {
      // Bounds the work for a field that repeats the same tag.
      if (++count > limits.tags * 2) return { tags: [...tags], isComplete: false }
      const tag = trimBlanks(part)
      if (tag === '' || tags.has(tag)) continue
      // Each character of a received header is one byte.
      if (tag.length > limits.bytes || tags.size >= limits.tags) isComplete = false
      else tags.add(tag)
    }
  }
  return { tags: [...tags], isComplete }
}

/**
 * The normalized path by which purges find responses, for comparison only: without query and trailing slashes, and
 * decoded once where that gives valid UTF-8, so that `/caf%C3%A9/` and `/café` are the same.
 */
export function purgePathOf(target: string): string {
  if (PLAIN.test(target)) return target
  const [path = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)
  const decoded = decodeBytes(path).replace(/(?:%[0-9a-f]{2})+/gi, decodeRun)
  let end = decoded.length
  while (end > 0 && decoded[end - 1] === '/') end--
  return end === 0 ? '/' : decoded.slice(0, end)
}

/** Most paths need no normalization. */
const PLAIN = /^(?:\/|(?:\/[\w.~-]+)+)$/

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    return run.toUpperCase()
  }
}

/** A client may send a path in unescaped UTF-8, and Node gives each byte as a character. */
function decodeBytes(path: string): string {
  if (!/[\x80-\xff]/.test(path) || /[^\0-\xff]/.test(path)) return path
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(path, 'latin1'))
  } catch {
    return path
  }
}
