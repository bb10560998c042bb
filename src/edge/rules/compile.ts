/**
 * Compiles the files of a site's author into its rules. A file that is read earlier takes precedence: `_redirects` and
 * `_headers`, then netlify.toml, then vercel.json. What does not apply is a warning for the log of the build.
 */
import { MAX_BASE_PATH_LENGTH, readBasePath } from '../static/base-path.ts'
import { parseHeadersFile } from './headers-file.ts'
import { type AllowedHosts, isAllowedHost } from './hosts.ts'
import { RULE_LIMITS } from './limits.ts'
import { parseNetlifyToml } from './netlify-toml.ts'
import { parseRedirectsFile } from './redirects-file.ts'
import type { HeaderRule, ParsedFile, Pattern, RedirectRule, SiteRules, Template } from './rules.ts'
import { isRedirectStatus } from './rules.ts'
import { parseVercelJson } from './vercel-json.ts'
import { formatWarning } from './warnings.ts'

/** The names of the files that have rules, in the order of their precedence, and who reads each. */
const PARSERS = {
  _redirects: parseRedirectsFile,
  _headers: parseHeadersFile,
  'netlify.toml': parseNetlifyToml,
  'vercel.json': parseVercelJson,
} satisfies Record<string, (text: string) => ParsedFile>

export type RuleFile = keyof typeof PARSERS

export const RULE_FILES = Object.keys(PARSERS) as RuleFile[]

export type RuleSources = {
  texts: Partial<Record<RuleFile, string>>
  /** The base path of the build, as configured. */
  basePath: string
  /** Hosts that a rewrite may lead to. */
  allowedHosts: AllowedHosts
  /** Whether the site has a file at this address. */
  isFile?(address: string): boolean
}

export type Compiled = {
  /** Undefined where no rule applies. */
  rules: SiteRules | undefined
  warnings: string[]
}

export function compileRules({ texts, basePath: written, allowedHosts, isFile }: RuleSources): Compiled {
  // With a longer one the output is refused.
  const basePath = readBasePath(written.slice(0, MAX_BASE_PATH_LENGTH))
  const rules: SiteRules = { redirects: [], headers: [] }
  const warnings: string[] = []
  const admit = createAdmission()
  for (const file of RULE_FILES) {
    const text = texts[file]
    if (text === undefined) continue
    const parsed = PARSERS[file](text.startsWith('\uFEFF') ? text.slice(1) : text)
    const found = [...parsed.warnings]
    const warn = (line: number | undefined, message: string) =>
      found.push({ line, message: `${message} It is left out.` })
    for (const { line, ...rule } of parsed.redirects) {
      const refusal = hostRefusal(rule, allowedHosts) ?? admit.redirect(rule, file, line)
      if (refusal !== undefined) {
        if (refusal !== '') warn(line, refusal)
        continue
      }
      const placed = underBase(rule, basePath)
      rules.redirects.push(placed)
      if (isFile && isHidden(placed, isFile)) found.push({ line, message: HIDDEN })
    }
    for (const { line, ...rule } of parsed.headers) {
      if (!rule.set && !rule.remove) continue
      const refusal = admit.headers(rule)
      if (refusal === undefined) rules.headers.push(headersUnderBase(rule, basePath))
      else if (refusal !== '') warn(line, refusal)
    }
    if (parsed.cleanUrls) rules.cleanUrls = true
    if (parsed.trailingSlash !== undefined) rules.trailingSlash = parsed.trailingSlash
    found.sort((one, other) => (one.line ?? 0) - (other.line ?? 0))
    warnings.push(...found.map((warning) => formatWarning(file, warning)))
  }
  const isEmpty =
    rules.redirects.length + rules.headers.length === 0 && !rules.cleanUrls && rules.trailingSlash === undefined
  return { rules: isEmpty ? undefined : rules, warnings: firstOf(warnings) }
}

/** Whether files answer all requests that the rule is for. A rewrite to the page that answers anyway loses nothing. */
function isHidden({ from, status, force, query }: RedirectRule, isFile: (address: string) => boolean): boolean {
  if (typeof from !== 'string' || force || query || status === 200) return false
  const names = from === '/' ? ['/index.html'] : [from, `${from}.html`, `${from}/index.html`]
  return names.some(isFile)
}

const HIDDEN =
  'the site has a file at this path, which takes precedence, so the rule has no effect. With "!" behind its status, as in 301!, the rule takes precedence.'

function firstOf(warnings: readonly string[]): string[] {
  const max = RULE_LIMITS.warnings
  if (warnings.length <= max) return [...warnings]
  return [...warnings.slice(0, max), `${warnings.length - max} more rules are left out.`]
}

/** Why a rewrite to another host is refused. */
function hostRefusal({ to, status }: RedirectRule, allowed: AllowedHosts): string | undefined {
  if (to.origin === undefined || isRedirectStatus(status)) return undefined
  if (status !== 200) return `the status ${status} cannot be used with another host.`
  if (isAllowedHost(allowed, to.origin)) return undefined
  return `it rewrites to ${to.origin}, a host that the operator of this service does not allow (the setting rewriteHosts). Redirect there instead, or ask the operator.`
}

/** Keeps the rules within their limits. A limit is named once; further rules beyond it are left out with it. */
function createAdmission() {
  const exactRules = new Map<string, string>()
  const exceeded = new Set<string>()
  let exact = 0
  let patterns = 0
  let headers = 0
  let bytes = 0

  function exceed(limit: string): string {
    if (exceeded.has(limit)) return ''
    exceeded.add(limit)
    return `there are more than ${limit}. This rule and all further ones beyond the limit are left out.`
  }

  function takeBytes(rule: RedirectRule | HeaderRule): boolean {
    bytes += Buffer.byteLength(JSON.stringify(rule)) + 1
    return bytes <= RULE_LIMITS.storedBytes
  }

  return {
    redirect(rule: RedirectRule, file: RuleFile, line: number | undefined): string | undefined {
      const isExact = typeof rule.from === 'string' && !rule.query
      if (isExact) {
        const name = `${rule.slash ?? ''} ${rule.force ?? ''} ${rule.from}`
        const before = exactRules.get(name)
        if (before !== undefined) return `an earlier rule has the same path (${before}).`
        if (exact >= RULE_LIMITS.exactRedirects) return exceed(`${RULE_LIMITS.exactRedirects} redirects`)
        exactRules.set(name, line === undefined ? file : `${file}, line ${line}`)
      } else if (patterns >= RULE_LIMITS.patternRedirects)
        return exceed(`${RULE_LIMITS.patternRedirects} redirects with placeholders, splats or query parameters`)
      if (!takeBytes(rule)) return exceed(TOO_LARGE)
      if (isExact) exact++
      else patterns++
      return undefined
    },

    headers(rule: HeaderRule): string | undefined {
      if (headers >= RULE_LIMITS.headerRules) return exceed(`${RULE_LIMITS.headerRules} paths with headers`)
      if (!takeBytes(rule)) return exceed(TOO_LARGE)
      headers++
      return undefined
    },
  }
}

const TOO_LARGE = `${RULE_LIMITS.storedBytes / 1024 ** 2} MiB of rules`

/**
 * Authors write paths from the top of the output, which is served under the base path. So both paths of a rule are put
 * under it, unless one of them has it already: then both are meant as they are.
 */
function underBase(rule: RedirectRule, basePath: string): RedirectRule {
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
function headersUnderBase(rule: HeaderRule, basePath: string): HeaderRule {
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
