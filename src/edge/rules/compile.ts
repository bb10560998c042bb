/**
 * Compiles the files of a site's author into its rules. A file that is read earlier takes precedence: `_redirects` and
 * `_headers`, then netlify.toml, then vercel.json. What does not apply is a warning for the log of the build.
 */
import { type AllowedHosts, isAllowedHost } from '../../http/index.ts'
import { MAX_BASE_PATH_LENGTH, readBasePath } from '../static/base-path.ts'
import { parseHeadersFile } from './formats/headers-file.ts'
import { parseNetlifyToml } from './formats/netlify-toml.ts'
import { parseRedirectsFile } from './formats/redirects-file.ts'
import { parseVercelJson } from './formats/vercel-json.ts'
import { RULE_LIMITS } from './limits.ts'
import { decodeLiteral } from './path.ts'
import { RULE_FILES, type RuleFile } from './rule-files.ts'
import { type HeaderRule, isRedirectStatus, type ParsedFile, type RedirectRule, type SiteRules } from './rules.ts'
import { headersUnderBase, underBase } from './under-base.ts'
import { formatWarning } from './warnings.ts'

const PARSERS: Record<RuleFile, (text: string) => ParsedFile> = {
  _redirects: parseRedirectsFile,
  _headers: parseHeadersFile,
  'netlify.toml': parseNetlifyToml,
  'vercel.json': parseVercelJson,
}

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
    for (const { line, ...written } of parsed.redirects) {
      const rule = underBase(written, basePath)
      const refusal = hostRefusal(rule, allowedHosts) ?? admit.redirect(rule, file, line)
      if (refusal !== undefined) {
        if (refusal !== '') warn(line, refusal)
        continue
      }
      rules.redirects.push(rule)
      if (isFile && isHidden(rule, isFile)) found.push({ line, message: `${HIDDEN} ${FORCED[file]}` })
      if (isFile && leadsNowhere(rule, isFile)) found.push({ line, message: NOWHERE })
    }
    for (const { line, ...written } of parsed.headers) {
      if (!written.set && !written.remove) continue
      const rule = headersUnderBase(written, basePath)
      const refusal = admit.headers(rule)
      if (refusal === undefined) rules.headers.push(rule)
      else if (refusal !== '') warn(line, refusal)
    }
    if (parsed.cleanUrls) rules.cleanUrls = true
    if (parsed.trailingSlash !== undefined) rules.trailingSlash = parsed.trailingSlash
    found.sort((one, other) => (one.line ?? 0) - (other.line ?? 0))
    for (const warning of found) warnings.push(formatWarning(file, warning))
  }
  const isEmpty =
    rules.redirects.length + rules.headers.length === 0 && !rules.cleanUrls && rules.trailingSlash === undefined
  return { rules: isEmpty ? undefined : rules, warnings: firstOf(warnings) }
}

/** Whether files answer all requests that the rule is for. A rewrite to the page that answers anyway loses nothing. */
function isHidden({ from, status, force, query }: RedirectRule, isFile: (address: string) => boolean): boolean {
  return typeof from === 'string' && !force && !query && status !== 200 && namesAt(from).some(isFile)
}

/** Whether a rewrite has a destination for which the site has no file. */
function leadsNowhere({ to, status }: RedirectRule, isFile: (address: string) => boolean): boolean {
  if (isRedirectStatus(status) || to.origin !== undefined || typeof to.path !== 'string') return false
  const path = to.path.split('/').map(decodeLiteral).join('/')
  return !namesAt(path === '/' ? path : path.replace(/\/$/, '')).some(isFile)
}

/** The files that answer a path without a slash at its end. */
const namesAt = (path: string): string[] =>
  path === '/' ? ['/index.html'] : [path, `${path}.html`, `${path}/index.html`]

const HIDDEN = 'the site has a file at this path, which takes precedence, so the rule has no effect.'

/** How a rule takes precedence over files, by the file that it is in. */
const FORCED: Record<RuleFile, string> = {
  _redirects: 'It takes precedence with "!" behind its status, as in 301!.',
  _headers: '',
  'netlify.toml': 'It takes precedence with "force = true".',
  'vercel.json': 'Redirects take precedence, rewrites do not.',
}

const NOWHERE =
  'the site has no file at its destination, so visitors get a page that says so. Functions of other services do not run here.'

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
  const exactHeaders = new Set<string>()
  let patternHeaders = 0
  let bytes = 0

  function exceed(limit: string): string {
    if (exceeded.has(limit)) return ''
    exceeded.add(limit)
    return `there are more than ${limit}, and this is over the limit, as all further ones are.`
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
      // A second rule for a path is looked at beside the first, like one with a placeholder.
      const isExact = typeof rule.for === 'string' && !exactHeaders.has(rule.for)
      if (isExact && exactHeaders.size >= RULE_LIMITS.exactHeaders)
        return exceed(`${RULE_LIMITS.exactHeaders} paths with headers`)
      if (!isExact && patternHeaders >= RULE_LIMITS.patternHeaders)
        return exceed(
          `${RULE_LIMITS.patternHeaders} paths with headers that have placeholders or splats, or are there twice`,
        )
      if (!takeBytes(rule)) return exceed(TOO_LARGE)
      if (isExact) exactHeaders.add(rule.for as string)
      else patternHeaders++
      return undefined
    },
  }
}

const TOO_LARGE = `${RULE_LIMITS.storedBytes / 1024 ** 2} MiB of rules`
