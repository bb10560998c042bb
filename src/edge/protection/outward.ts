/**
 * What the answers of an environment carry that is not for everybody. Headers are lists `[name, value, …]`.
 *
 * Hidden from search engines: `X-Robots-Tag: noindex`, beside what the app says there itself. Search engines obey the
 * strictest rule that they find, so an app can forbid more, and cannot allow it again.
 *
 * Protected: caches between the edge and the visitor must not store it, since they do not check who asks. The visitor's
 * own browser may.
 */
import { trimBlanks } from '../../http/index.ts'
import { remembering, toLower } from '../http/remember.ts'
import type { Access } from '../routes.ts'

/** What an environment that is not for everybody adds to all of its answers. */
export const changeOf = (access: Access | undefined) =>
  access && ((headers: readonly string[]) => toOutward(access, headers))

export function toOutward({ isHidden, protection }: Access, headers: readonly string[]): string[] {
  const sent = protection ? toPrivate(headers) : [...headers]
  return isHidden ? withNoindex(sent) : sent
}

/** Adds to the list. */
export function withNoindex(headers: string[]): string[] {
  for (let at = 0; at < headers.length; at += 2)
    if (toLower(headers[at] as string) === ROBOTS && forbidsIndex(headers[at + 1] as string)) return headers
  headers.push('X-Robots-Tag', 'noindex')
  return headers
}

const ROBOTS = 'x-robots-tag'

/** A rule with a colon may be for one search engine only. */
const forbidsIndex = remembering(
  (value) =>
    !value.includes(':') &&
    value
      .toLowerCase()
      .split(',')
      .some((rule) => FORBIDDING.has(trimBlanks(rule))),
)

const FORBIDDING = new Set(['noindex', 'none'])

function toPrivate(headers: readonly string[]): string[] {
  const sent: string[] = []
  const rules: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    const value = headers[at + 1] as string
    const lower = toLower(name)
    if (lower === 'cache-control') rules.push(value)
    else if (!FOR_SHARED_CACHES.has(lower) && !lower.endsWith('-cdn-cache-control')) sent.push(name, value)
  }
  sent.push('Cache-Control', privateRules(rules.join(', ')))
  return sent
}

/** Each is a lifetime for one kind of shared cache, and wins there over Cache-Control. */
const FOR_SHARED_CACHES = new Set(['cdn-cache-control', 'surrogate-control', 'edge-control', 'x-accel-expires'])

const privateRules = remembering((rules) => {
  const kept = splitRules(rules).filter((rule) => !ABOUT_SHARING.test(rule))
  if (!kept.some((rule) => /^no-store$/i.test(rule))) kept.unshift('private')
  return kept.join(', ')
})

const ABOUT_SHARING = /^(?:public|private|s-maxage|proxy-revalidate)(?![\w-])/i

/** At commas that are not between quotes. */
function splitRules(rules: string): string[] {
  const found: string[] = []
  let isQuoted = false
  let begin = 0
  for (let at = 0; at <= rules.length; at++) {
    if (rules[at] === '"') isQuoted = !isQuoted
    if (at < rules.length && (isQuoted || rules[at] !== ',')) continue
    const rule = trimBlanks(rules.slice(begin, at))
    if (rule !== '') found.push(rule)
    begin = at + 1
  }
  return found
}
