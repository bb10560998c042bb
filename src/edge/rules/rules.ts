/**
 * The rules of a site, compiled from the files of its author. They are plain JSON, because the manifest of the site stores
 * them: a deployment has its own, so a rollback restores the old ones.
 */

export type SiteRules = {
  /** The first that matches applies. */
  redirects: RedirectRule[]
  /** All that match apply, in this order. */
  headers: HeaderRule[]
  /** `/about.html` redirects to `/about`. */
  cleanUrls?: true
  /** Whether the URL of a page ends with a slash. Without it, that depends on the page's file. */
  trailingSlash?: boolean
}

export type RedirectRule = {
  from: Pattern
  /** Whether the path must end with a slash, or must not. Without it, both match. */
  slash?: boolean
  /** Query parameters that the request must have. */
  query?: QueryCondition[]
  to: Destination
  /** 301, 302, 303, 307 or 308 redirects. 200, 404 or 410 answers with the file at the destination. */
  status: number
  /** It applies even where the path has a file. */
  force?: true
}

export type HeaderRule = {
  for: Pattern
  slash?: boolean
  /** Names in lower case, with the values that the response gets. */
  set?: [name: string, value: Template][]
  /** Names in lower case that the response does not get. */
  remove?: string[]
  /** A value replaces that of an earlier rule. Otherwise they are joined with a comma. */
  replaces?: true
}

/** A path without its trailing slash, decoded; or a pattern of paths. */
export type Pattern = string | PathPattern

/**
 * Segments of a path. At most one splat stands between `head` and `tail`, so a path is compared from both ends, in
 * linear time and without backtracking.
 */
export type PathPattern = { head: Segment[]; splat?: Splat; tail?: Segment[] }

/** A literal, decoded; or a placeholder for what is between a prefix and a suffix, which is not empty. */
export type Segment = string | { name: string; prefix?: string; suffix?: string }

/** Any number of segments. */
export type Splat = {
  name: string
  /** The literal text before and after it, up to the next slash. */
  prefix?: string
  suffix?: string
  /** `/docs/*` matches `/docs` as well. */
  isOptional?: true
  /** It matches at least one character. */
  isFilled?: true
}

/** `value` is the required value; without it, any value that is not empty is captured under the name in `capture`. */
export type QueryCondition = { name: string; value?: string; capture?: string }

export type Destination = {
  /** `https://example.com`; without it, a path of the same site. */
  origin?: string
  path: Template
  query?: Template
  hash?: Template
}

/** Text with references to what was captured. `isOptional`: with an empty value, the slash before it is left out, too. */
export type Template = string | (string | Reference)[]
export type Reference = { ref: string; isOptional?: true }

/** What one file of rules says. */
export type ParsedFile = {
  redirects: (RedirectRule & Located)[]
  headers: (HeaderRule & Located)[]
  cleanUrls?: true
  trailingSlash?: boolean
  warnings: Warning[]
}

export type Located = { line: number | undefined }

/** Something in a file that does not apply, for the log of the build. */
export type Warning = Located & { message: string }

/** Thrown where a rule cannot be applied. The message says why, for its author. */
export class RuleRefused extends Error {}

export const isRedirectStatus = (status: number): boolean => REDIRECTS.has(status)
export const isKnownStatus = (status: number): boolean => REDIRECTS.has(status) || REWRITES.has(status)

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const REWRITES: ReadonlySet<number> = new Set([200, 404, 410])
