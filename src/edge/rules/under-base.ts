/** The rules of a site with a base path. */
import type { HeaderRule, Pattern, RedirectRule, Template } from './rules.ts'

/**
 * Authors write paths from the top of the output, which is served under the base path. So both paths of a rule are put
 * under it, unless one of them has it already: then both are meant as they are.
 */
export function underBase(rule: RedirectRule, basePath: string): RedirectRule {
  const { from, to } = rule
  const isOwn = to.origin === undefined
  if (basePath === '' || hasBase(from, basePath) || (isOwn && beginsWithBase(to.path, basePath))) return rule
  return {
    ...rule,
    from: prefixed(from, basePath),
    to: isOwn ? { ...to, path: prefixedTemplate(to.path, basePath) } : to,
  }
}

/** A rule for everything applies outside of the base path as well, where robots.txt is. */
export function headersUnderBase(rule: HeaderRule, basePath: string): HeaderRule {
  if (basePath === '' || hasBase(rule.for, basePath) || isEverything(rule.for)) return rule
  return { ...rule, for: prefixed(rule.for, basePath) }
}

const isEverything = (pattern: Pattern): boolean =>
  typeof pattern !== 'string' &&
  pattern.head.length === 0 &&
  pattern.tail === undefined &&
  pattern.splat?.prefix === undefined &&
  pattern.splat?.suffix === undefined

function hasBase(pattern: Pattern, basePath: string): boolean {
  if (typeof pattern === 'string') return pattern === basePath || pattern.startsWith(`${basePath}/`)
  return segmentsOf(basePath).every((segment, at) => pattern.head[at] === segment)
}

function beginsWithBase(path: Template, basePath: string): boolean {
  const first = typeof path === 'string' ? path : path[0]
  const encoded = encodedBase(basePath)
  return typeof first === 'string' && (first === encoded || first.startsWith(`${encoded}/`))
}

function prefixed(pattern: Pattern, basePath: string): Pattern {
  if (typeof pattern === 'string') return pattern === '/' ? basePath : `${basePath}${pattern}`
  return { ...pattern, head: [...segmentsOf(basePath), ...pattern.head] }
}

function prefixedTemplate(path: Template, basePath: string): Template {
  const encoded = encodedBase(basePath)
  return typeof path === 'string' ? `${encoded}${path}` : [encoded, ...path]
}

const segmentsOf = (basePath: string): string[] => basePath.slice(1).split('/')
const encodedBase = (basePath: string): string => basePath.split('/').map(encodeURIComponent).join('/')
