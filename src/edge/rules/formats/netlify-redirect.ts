/** A redirect of Netlify, from a line of `_redirects` or a table of netlify.toml. */
import { quoted } from '../headers.ts'
import { RULE_LIMITS } from '../limits.ts'
import {
  type Destination,
  isKnownStatus,
  isRedirectStatus,
  type QueryCondition,
  type RedirectRule,
  RuleRefused,
} from '../rules.ts'
import { readDestination } from '../template.ts'
import { addName, readNetlifyPath } from './netlify-path.ts'

export type WrittenRedirect = {
  from: string
  query: readonly [name: string, value: string][]
  to: string | undefined
  status: number | undefined
  isForced: boolean
  /** The names of its conditions, such as Country. */
  conditions: readonly string[]
}

/** Netlify's; that of Cloudflare is 302. */
const DEFAULT_STATUS = 301

export function toRedirect(written: WrittenRedirect): RedirectRule {
  const { from, status = DEFAULT_STATUS, isForced, conditions } = written
  const [condition] = conditions
  if (condition !== undefined)
    throw new RuleRefused(
      `it has the condition ${quoted(condition)}: conditions such as country, language, cookie and role are not supported.`,
    )
  if (!isKnownStatus(status))
    throw new RuleRefused(`the status ${status} is not supported: use 200, 301, 302, 303, 307, 308, 404 or 410.`)
  if (/^https?:/i.test(from))
    throw new RuleRefused('its path has a host name: a rule applies to all host names of the environment.')
  const { pattern, hasSlash, names } = readNetlifyPath(from)
  const query = readQuery(written.query, names)
  const to = readDestination(written.to ?? forwardOf(from, status), { names })
  const turn = compareSlashes(from, to)
  if (turn === 'same' && isRedirectStatus(status) && query.length === 0)
    throw new RuleRefused('it redirects a path to itself.')
  return {
    from: pattern,
    ...(turn === 'slash' ? { slash: hasSlash } : {}),
    ...(query.length > 0 ? { query } : {}),
    to,
    status,
    ...(isForced ? { force: true } : {}),
  }
}

/** Without a destination, the files at the same path answer: `/blog/* 200`. */
function forwardOf(from: string, status: number): string {
  if (status !== 200 || !from.endsWith('/*')) throw new RuleRefused('it has no destination.')
  return `${from.slice(0, -1)}:splat`
}

function readQuery(written: WrittenRedirect['query'], names: Set<string>): QueryCondition[] {
  if (written.length > RULE_LIMITS.queryConditions)
    throw new RuleRefused(`it has more than ${RULE_LIMITS.queryConditions} query parameters.`)
  return written.map(([name, value]) => {
    if (name === '') throw new RuleRefused('it has a query parameter without a name.')
    const [, capture] = /^:([A-Za-z]\w*)$/.exec(value) ?? []
    if (capture === undefined) return { name, value }
    addName(names, capture)
    return { name, capture }
  })
}

/**
 * Both `/about` and `/about/` match a rule for one of them, as at Netlify. A rule that only adds or removes the slash
 * would then redirect to itself, so it matches its path as written, as at Cloudflare.
 */
function compareSlashes(from: string, to: Destination): 'same' | 'slash' | 'other' {
  if (to.origin !== undefined || to.query !== undefined || typeof to.path !== 'string') return 'other'
  if (from === to.path) return 'same'
  return from.replace(/\/$/, '') === to.path.replace(/\/$/, '') ? 'slash' : 'other'
}
