/** The path of a request as rules see it, and whether a pattern matches it. */
import type { PathPattern, Pattern, Segment } from './rules.ts'

export type RequestPath = {
  /** Decoded, without the empty one after a trailing slash. */
  segments: readonly string[]
  /** The segments, joined by slashes, and where each begins. */
  text: string
  starts: readonly number[]
  hasSlash: boolean
}

/** What placeholders and the splat stand for, by name: decoded segments, joined by slashes. */
export type Captures = Record<string, string>

/** Without a prototype: authors choose the names. */
export const noCaptures = (): Captures => Object.create(null)

/**
 * A slash that is encoded within a segment, which must not become a separator. No path that has this character otherwise
 * is compared with rules.
 */
export const ENCODED_SLASH = '\0'

/** From the path as the client wrote it. Undefined for one that no rule can match. */
export function readPath(rawPath: string): RequestPath | undefined {
  if (!rawPath.startsWith('/')) return undefined
  const segments: string[] = []
  for (const raw of rawPath.slice(1).split('/')) {
    const segment = raw.includes('%') ? decode(raw) : raw
    if (segment === undefined || segment.includes('\0')) return undefined
    segments.push(segment.replaceAll('/', ENCODED_SLASH))
  }
  const hasSlash = segments.at(-1) === ''
  if (hasSlash) segments.pop()
  const starts: number[] = []
  let at = 0
  for (const segment of segments) {
    starts.push(at)
    at += segment.length + 1
  }
  return { segments, text: segments.join('/'), starts, hasSlash }
}

/** A literal of a rule. Text that is not valid when decoded stands for itself. */
export const decodeLiteral = (text: string): string => (decode(text) ?? text).replaceAll('/', ENCODED_SLASH)

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The name of an exact path: what a pattern that is a string is compared with. */
export const exactName = ({ text }: RequestPath): string => `/${text}`

/** Undefined where it does not match. The time is linear in the length of the path and the pattern. */
export function matchPattern(pattern: Pattern, path: RequestPath, slash: boolean | undefined): Captures | undefined {
  if (slash !== undefined && slash !== path.hasSlash) return undefined
  if (typeof pattern === 'string') return pattern === exactName(path) ? noCaptures() : undefined
  const { head, splat, tail = [] } = pattern
  const { segments } = path
  const between = segments.length - head.length - tail.length
  if (between < 0 || (!splat && between > 0)) return undefined
  // Most patterns differ in the first segment, and need no further work.
  if (typeof head[0] === 'string' && head[0] !== segments[0]) return undefined
  const captures = noCaptures()
  if (!matchSegments(head, segments, 0, captures)) return undefined
  if (!matchSegments(tail, segments, segments.length - tail.length, captures)) return undefined
  return !splat || matchSplat(pattern, path, slash, captures) ? captures : undefined
}

function matchSegments(wanted: readonly Segment[], segments: readonly string[], from: number, captures: Captures) {
  for (const [at, segment] of wanted.entries()) {
    const found = segments[from + at] as string
    if (typeof segment === 'string') {
      if (segment !== found) return false
      continue
    }
    const value = between(found, segment)
    if (value === undefined || value === '') return false
    captures[segment.name] = value
  }
  return true
}

function matchSplat(
  { head, splat, tail = [] }: PathPattern,
  { segments, text, starts, hasSlash }: RequestPath,
  slash: boolean | undefined,
  captures: Captures,
): boolean {
  if (!splat) return true
  const last = segments.length - tail.length
  const isNone = head.length === last
  const isEnd = tail.length === 0
  // With nothing behind the splat, the slash at the end belongs to it.
  const hasOwnSlash = isEnd && hasSlash && slash === undefined
  if (isNone && !splat.isOptional && !hasOwnSlash) return false
  const end = isEnd ? text.length : (starts[last] as number) - 1
  const middle = isNone ? '' : text.slice(starts[head.length], end) + (hasOwnSlash ? '/' : '')
  const value = between(middle, splat)
  if (value === undefined || (splat.isFilled && value === '')) return false
  captures[splat.name] = value
  return true
}

function between(text: string, { prefix = '', suffix = '' }: { prefix?: string; suffix?: string }): string | undefined {
  if (text.length < prefix.length + suffix.length || !text.startsWith(prefix) || !text.endsWith(suffix))
    return undefined
  return text.slice(prefix.length, text.length - suffix.length)
}
