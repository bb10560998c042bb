/**
 * The cache directives of a message: Cache-Control (RFC 9111, section 5.2), and CDN-Cache-Control, which is for caches
 * like this one and takes precedence (RFC 9213).
 *
 * A malformed directive is read in its restrictive sense: an invalid lifetime is zero, `no-store; max-age=60` is still
 * a no-store, and so is a field that is too long.
 */
import { trimBlanks } from '../../../http/index.ts'
import { remembering } from '../../http/remember.ts'
import { fieldOf, type HeaderList, membersOf } from '../fields/header-list.ts'
import { readDictionary } from '../fields/structured-field.ts'

/** Lower-case names; `true` for a directive without a value, or with an invalid one. */
export type Directives = ReadonlyMap<string, string | true>

/** Which field applies to a response, and its directives. */
export type Policy = { field: 'cdn-cache-control' | 'cache-control'; directives: Directives }

export function policyOf(headers: HeaderList): Policy {
  const field = fieldOf(headers, 'cdn-cache-control')
  const targeted = (field?.length ?? 0) > MAX_LENGTH ? UNREAD : readTargeted(field)
  if (targeted) return { field: 'cdn-cache-control', directives: targeted }
  return { field: 'cache-control', directives: readCacheControl(fieldOf(headers, 'cache-control')) }
}

export const readCacheControl = (value: string | undefined): Directives =>
  value === undefined ? NONE : value.length > MAX_LENGTH ? UNREAD : readDirectives(value)

const readDirectives = remembering((value): Directives => {
  const found = new Map<string, string | true>()
  for (const member of splitOutsideQuotes(value)) {
    const [, name, token, quoted] = DIRECTIVE.exec(member) ?? []
    if (name !== undefined) add(found, name.toLowerCase(), token ?? quoted?.replace(/\\(.)/g, '$1') ?? true)
    else add(found, NAME.exec(member)?.[0].toLowerCase(), true)
  }
  return found
})

const NONE: Directives = new Map()
/** Parsing a longer one would cost milliseconds per message, and no real app sends one. */
const MAX_LENGTH = 4096
const UNREAD: Directives = new Map([['no-store', true]])

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const NAME = new RegExp(`^${TOKEN}`)
const DIRECTIVE = new RegExp(`^(${TOKEN})(?:=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?$`)

/** They may name the fields that they apply to, and apply to the whole response where they do not. */
const QUALIFIABLE = new Set(['no-cache', 'private'])

/**
 * Of a repeated directive the first counts (section 4.2.1 allows this, or to treat the response as stale). Those that
 * forbid something are combined, because the most restrictive one must be honoured.
 */
function add(found: Map<string, string | true>, name: string | undefined, value: string | true) {
  if (name === undefined) return
  const before = found.get(name)
  if (!QUALIFIABLE.has(name)) {
    if (before === undefined) found.set(name, value)
    return
  }
  const isUnqualified = value === true || before === true || membersOf(value).length === 0
  found.set(name, isUnqualified ? true : before === undefined ? value : `${before}, ${value}`)
}

/** Commas inside a quoted string do not separate. A quote that is never closed is an ordinary character. */
function splitOutsideQuotes(value: string): string[] {
  if (!value.includes('"')) return membersOf(value)
  const members: string[] = []
  let from = 0
  let openedAt = -1
  for (let at = 0; at < value.length; at++) {
    const character = value[at]
    if (openedAt >= 0 && character === '\\') at++
    else if (character === '"') openedAt = openedAt < 0 ? at : -1
    else if (character === ',' && openedAt < 0) {
      members.push(trimBlanks(value.slice(from, at)))
      from = at + 1
    }
  }
  const rest = value.slice(from)
  return members.concat(openedAt < 0 ? trimBlanks(rest) : membersOf(rest))
}

/**
 * The seconds of a directive; undefined when it is absent, 0 when it is not a number of seconds: caches are encouraged
 * to treat that as stale (section 4.2.1). More than 2^31 becomes 2^31 (section 1.2.2).
 */
export function seconds(directives: Directives, name: string): number | undefined {
  const value = directives.get(name)
  if (value === undefined) return undefined
  return value !== true && /^\d+$/.test(value) ? Math.min(Number(value), 2 ** 31) : 0
}

/** The fields, in lower case, that `no-cache="…"` or `private="…"` names; empty when it is absent or unqualified. */
export function fieldsNamedBy(directives: Directives, name: 'no-cache' | 'private'): string[] {
  const value = directives.get(name)
  return typeof value === 'string' ? membersOf(value.toLowerCase()) : []
}

/** Undefined when the field must be ignored as a whole: absent, empty, or malformed (RFC 9213, section 2). */
function readTargeted(value: string | undefined): Directives | undefined {
  const dictionary = value === undefined ? undefined : readDictionary(value)
  if (!dictionary || dictionary.size === 0) return undefined
  const found = new Map<string, string | true>()
  for (const [name, item] of dictionary) {
    const isSeconds = item.kind === 'integer' && item.value >= 0
    // No other type is converted into a number, because caches would differ in the result.
    if (IN_SECONDS.has(name) && !isSeconds) return undefined
    if (item.kind === 'boolean' && !item.value) continue
    if (isSeconds) found.set(name, String(item.value))
    else add(found, name, item.kind === 'string' ? item.value : true)
  }
  return found
}

const IN_SECONDS = new Set(['max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error'])
