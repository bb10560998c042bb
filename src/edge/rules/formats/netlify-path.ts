/** Paths as Netlify and Cloudflare Pages write them: `/news/:year/*`. */
import { RULE_LIMITS } from '../limits.ts'
import { decodeLiteral } from '../path.ts'
import { type Pattern, RuleRefused, type Segment, type Splat } from '../rules.ts'

export type ReadPattern = {
  pattern: Pattern
  /** Whether it is written with a slash at its end. */
  hasSlash: boolean
  /** The names that it captures. */
  names: Set<string>
}

export function readNetlifyPath(text: string): ReadPattern {
  checkPath(text)
  const [path = ''] = text.split(/[?#]/, 1)
  if (path !== text && text[path.length] === '?')
    throw new RuleRefused('its path has a "?": write query parameters behind the path, as in "/store id=:id".')
  const written = path.slice(1).split('/')
  const hasSlash = written.at(-1) === ''
  if (hasSlash) written.pop()
  checkSegments(written.length)
  const names = new Set<string>()
  const head: Segment[] = []
  const tail: Segment[] = []
  let splat: Splat | undefined
  for (const [at, part] of written.entries()) {
    if (!part.includes('*')) {
      ;(splat ? tail : head).push(readSegment(part, names))
      continue
    }
    const [prefix = '', suffix = '', ...more] = part.split('*')
    if (splat || more.length > 0) throw new RuleRefused('its path has more than one "*".')
    const isLast = at === written.length - 1
    splat = {
      name: 'splat',
      ...(prefix === '' ? {} : { prefix: decodeLiteral(prefix) }),
      ...(suffix === '' ? {} : { suffix: decodeLiteral(suffix) }),
      ...(part === '*' && isLast ? { isOptional: true } : {}),
    }
    addName(names, 'splat')
  }
  return { pattern: toPattern(head, splat, tail), hasSlash, names }
}

export function checkPath(text: string) {
  if (!text.startsWith('/')) throw new RuleRefused('its path must begin with "/".')
  if (text.length > RULE_LIMITS.textLength)
    throw new RuleRefused(`its path has more than ${RULE_LIMITS.textLength} characters.`)
}

export function checkSegments(count: number) {
  if (count > RULE_LIMITS.segments) throw new RuleRefused(`its path has more than ${RULE_LIMITS.segments} segments.`)
}

export function addName(names: Set<string>, name: string) {
  if (names.has(name)) throw new RuleRefused(`its path has the placeholder ":${name}" twice.`)
  names.add(name)
}

/** A path without placeholders is a string. */
export function toPattern(head: Segment[], splat: Splat | undefined, tail: Segment[]): Pattern {
  const isLiteral = (segment: Segment): segment is string => typeof segment === 'string'
  if (!splat && head.every(isLiteral)) return `/${head.join('/')}`
  return { head, ...(splat ? { splat } : {}), ...(tail.length > 0 ? { tail } : {}) }
}

/** A placeholder begins a segment; elsewhere a colon means itself, as in `/wiki/Talk:Home`. */
function readSegment(text: string, names: Set<string>): Segment {
  const [whole = '', name] = /^:([A-Za-z]\w*)/.exec(text) ?? []
  if (name === undefined) return decodeLiteral(text)
  addName(names, name)
  const suffix = text.slice(whole.length)
  return { name, ...(suffix === '' ? {} : { suffix: decodeLiteral(suffix) }) }
}
