/** The limits of rules. What exceeds one is left out, and the log of the build says so. */
export const RULE_LIMITS = {
  /** Of each file that has rules. */
  fileBytes: 1024 * 1024,
  /** Redirects and rewrites of one path each: they are found at once, however many there are. */
  exactRedirects: 10_000,
  /** Redirects and rewrites with a placeholder or a splat: a request is compared with one after the other. */
  patternRedirects: 500,
  /** Paths with headers, by the same rules. */
  exactHeaders: 10_000,
  patternHeaders: 500,
  headersPerRule: 100,
  /** Of a path, a destination or the value of a header. */
  textLength: 4096,
  segments: 100,
  queryConditions: 16,
  /** Of one destination or value: each may be replaced by as much as a visitor sends. */
  references: 10,
  /** Of all rules, as the manifest stores them. */
  storedBytes: 2 * 1024 * 1024,
  /** Of the headers that rules add to one response. */
  responseHeaderBytes: 32 * 1024,
  /** The URL that a visitor is redirected to. */
  locationLength: 16 * 1024,
  /** Warnings in the log of a build. */
  warnings: 100,
  /** Reading the files of one build. */
  readMs: 60_000,
}
