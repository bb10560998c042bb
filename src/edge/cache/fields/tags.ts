/** The names by which purges find what is stored: tags that a response was given, and its path. */
import { trimBlanks } from '../../../http/index.ts'
import { fieldOf, type HeaderList } from './header-list.ts'

export type TagLimits = { tags: number; bytes: number }

export const TAG_LIMITS: TagLimits = { tags: 1000, bytes: 1024 }

/** Said to caches alone, so that they are not sent on: Cache-Tag, and what Next.js says to the cache it expects. */
export const TAG_FIELDS = ['cache-tag', 'x-next-cache-tags']

/**
 * Commas stand between the tags of Cache-Tag at Cloudflare, Google and Netlify, and of Akamai's Edge-Cache-Tag; spaces
 * between those of Fastly's Surrogate-Key. None of them has tags with a comma or a space in it, so that both part tags
 * everywhere; but tags of Next.js may have spaces. An app that was written for one of those can be purged as it is:
 * their fields are read as well, and left where they are, for they may be meant for the one in front of us.
 */
const SOURCES: readonly (readonly [field: string, tag: RegExp])[] = [
  ['cache-tag', /[^ \t,]+/g],
  ['surrogate-key', /[^ \t,]+/g],
  ['edge-cache-tag', /[^ \t,]+/g],
  ['x-next-cache-tags', /[^,]+/g],
]

/** As they are written: case counts. None twice, none too long, not too many. */
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
      // The same one again and again is read so often and no more.
      if (++count > limits.tags * 2) return { tags: [...tags], isComplete: false }
      const tag = trimBlanks(part)
      if (tag === '' || tags.has(tag)) continue
      // A character of a header that came over the wire is a byte.
      if (tag.length > limits.bytes || tags.size >= limits.tags) isComplete = false
      else tags.add(tag)
    }
  }
  return { tags: [...tags], isComplete }
}

/**
 * The path as purges name it, to compare and for nothing else: without query and without slashes at its end, decoded
 * once where that gives text, so that `/caf%C3%A9/` and `/café` are one.
 */
export function purgePathOf(target: string): string {
  if (PLAIN.test(target)) return target
  const [path = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)
  const decoded = decodeBytes(path).replace(/(?:%[0-9a-f]{2})+/gi, decodeRun)
  let end = decoded.length
  while (end > 0 && decoded[end - 1] === '/') end--
  return end === 0 ? '/' : decoded.slice(0, end)
}

/** Most paths are what they mean. */
const PLAIN = /^(?:\/|(?:\/[\w.~-]+)+)$/

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    return run.toUpperCase()
  }
}

/** A client may send a path in UTF-8 as it is, and Node gives each byte as a character. */
function decodeBytes(path: string): string {
  if (!/[\x80-\xff]/.test(path) || /[^\0-\xff]/.test(path)) return path
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(path, 'latin1'))
  } catch {
    return path
  }
}
