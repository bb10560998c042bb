/** Finds the rule that applies to a request, and the headers of its response. */
import type { HeaderChanges } from './headers.ts'
import { RULE_LIMITS } from './limits.ts'
import { type Captures, ENCODED_SLASH, type RequestPath } from './path.ts'
import { createRuleIndex } from './rule-index.ts'
import { isRedirectStatus, type QueryCondition, type RedirectRule, type SiteRules } from './rules.ts'
import { fillTemplate, IN_PATH, IN_QUERY } from './template.ts'

export type RuleAction =
  | { kind: 'redirect'; status: number; location: string }
  /** The file at this path, encoded, answers. */
  | { kind: 'rewrite'; status: number; path: string }
  /** Another host answers; the path has its query. */
  | { kind: 'proxy'; origin: string; path: string }
  /** What the visitor sent makes the destination too long, or leads out of its folder. */
  | { kind: 'refuse' }

export type FoundRule = { isForced: boolean; action: RuleAction }

export type RuleMatcher = {
  readonly cleanUrls: boolean
  readonly trailingSlash: boolean | undefined
  /** The first rule that applies; `query` is the text behind the `?`. */
  find(path: RequestPath, query: string | undefined, options?: { isForced: boolean }): FoundRule | undefined
  /** Whether the answer to the path may be another one with another query. */
  readsQuery(path: RequestPath): boolean
  /** Undefined where no rule matches. */
  headersFor(path: RequestPath): HeaderChanges | undefined
}

export function createMatcher(rules: SiteRules): RuleMatcher {
  const redirects = createRuleIndex(rules.redirects, ({ from }) => from)
  const headers = createRuleIndex(rules.headers, (rule) => rule.for)
  const hasQueryRules = rules.redirects.some(({ query }) => query !== undefined)

  return {
    cleanUrls: rules.cleanUrls === true,
    trailingSlash: rules.trailingSlash,
    find(path, query, { isForced } = { isForced: false }) {
      let parameters: ReadonlyMap<string, string> | undefined
      for (const { rule, captures } of redirects.matching(path)) {
        if (isForced && !rule.force) continue
        if (rule.query) {
          parameters ??= valuesIn(query)
          if (!matchQuery(rule.query, parameters, captures)) continue
        }
        return { isForced: rule.force === true, action: toAction(rule, captures, query) }
      }
      return undefined
    },

    readsQuery(path) {
      if (!hasQueryRules) return false
      for (const { rule } of redirects.matching(path)) if (rule.query) return true
      return false
    },

    headersFor(path) {
      const changes = new Map<string, string | null>()
      let bytes = 0
      for (const { rule, captures } of headers.matching(path)) {
        for (const name of rule.remove ?? NONE) changes.set(name, null)
        for (const [name, template] of rule.set ?? NONE) {
          const value = fillTemplate(template, captures, IN_PATH)
          const before = rule.replaces ? null : (changes.get(name) ?? null)
          bytes += name.length + value.length + 4
          if (bytes > RULE_LIMITS.responseHeaderBytes) return changes
          changes.set(name, before === null ? value : `${before}, ${value}`)
        }
      }
      return changes.size > 0 ? changes : undefined
    },
  }
}

const NONE: readonly never[] = []

function toAction(rule: RedirectRule, captures: Captures, query: string | undefined): RuleAction {
  const { to, status } = rule
  const path = fillTemplate(to.path, captures, IN_PATH)
  const isRedirect = isRedirectStatus(status)
  if (!isRedirect && to.origin === undefined) return { kind: 'rewrite', status, path }
  const own = to.query === undefined ? undefined : fillTemplate(to.query, captures, IN_QUERY)
  const search = mergeQueries(own, query, rule.query ?? NONE)
  const target = search === '' ? path : `${path}?${search}`
  if (!isRedirect && to.origin !== undefined) {
    const isInside = !hasDotSegments(path) && target.length <= RULE_LIMITS.locationLength
    return isInside ? { kind: 'proxy', origin: to.origin, path: target } : { kind: 'refuse' }
  }
  const hash = to.hash === undefined ? '' : `#${fillTemplate(to.hash, captures, IN_QUERY)}`
  // A path that begins with two slashes would name another host.
  const location = `${to.origin ?? ''}${to.origin === undefined ? target.replace(/^\/+/, '/') : target}${hash}`
  return location.length > RULE_LIMITS.locationLength ? { kind: 'refuse' } : { kind: 'redirect', status, location }
}

/** The other host would resolve them, and answer for a folder that the rule does not name. */
const hasDotSegments = (path: string): boolean => path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))

/** Whether all conditions are met. The captured values are added. */
function matchQuery(
  conditions: readonly QueryCondition[],
  parameters: ReadonlyMap<string, string>,
  captures: Captures,
): boolean {
  for (const { name, value, capture } of conditions) {
    const found = parameters.get(name)
    if (found === undefined || (value === undefined ? found === '' : found !== value)) return false
    if (capture !== undefined) captures[capture] = found.replaceAll(ENCODED_SLASH, '')
  }
  return true
}

/** Of a parameter that is there twice, the first counts. */
const valuesIn = (query: string | undefined): ReadonlyMap<string, string> =>
  new Map(
    readQuery(query)
      .map(({ name, value }): [string, string] => [name, value])
      .reverse(),
  )

/** The destination's own parameters, and those of the request that it does not set and that the rule did not use. */
function mergeQueries(
  own: string | undefined,
  query: string | undefined,
  conditions: readonly QueryCondition[],
): string {
  if (own === undefined && conditions.length === 0) return query ?? ''
  const taken = new Set([...readQuery(own).map(({ name }) => name), ...conditions.map(({ name }) => name)])
  const others = readQuery(query).filter(({ name }) => !taken.has(name))
  return [...(own ? [own] : []), ...others.map(({ text }) => text)].join('&')
}

type Parameter = { text: string; name: string; value: string }

function readQuery(query: string | undefined): Parameter[] {
  if (query === undefined) return []
  return query
    .split('&')
    .filter((text) => text !== '')
    .map((text) => {
      const at = text.indexOf('=')
      const name = decodeParameter(at < 0 ? text : text.slice(0, at))
      return { text, name, value: at < 0 ? '' : decodeParameter(text.slice(at + 1)) }
    })
}

function decodeParameter(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
