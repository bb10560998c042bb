/**
 * What a message says about its caching: Cache-Control (RFC 9111, section 5.2), and CDN-Cache-Control, which is meant
 * for caches like this one and wins over it (RFC 9213).
 *
 * Where a directive is badly written, the careful meaning counts: a lifetime that cannot be read is one of zero,
 * `no-store; max-age=60` is still a no-store, and so is a field that is too long to be read.
 */
import { trimBlanks } from '../../../http/index.ts'
import { remembering } from '../../http/remember.ts'
import { fieldOf, type HeaderList, membersOf } from '../fields/header-list.ts'
import { readDictionary } from '../fields/structured-field.ts'

/** Lower-case names; `true` for a directive without a value, or with one that cannot be read. */
export type Directives = ReadonlyMap<string, string | true>

/** Which field decides about a response, and what it says. */
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
/** What is longer costs every message milliseconds, and nobody writes it by hand. */
const MAX_LENGTH = 4096
const UNREAD: Directives = new Map([['no-store', true]])

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const NAME = new RegExp(`^${TOKEN}`)
const DIRECTIVE = new RegExp(`^(${TOKEN})(?:=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?$`)

/** They may name the fields that they are about, and are about the whole response where they do not. */
const QUALIFIABLE = new Set(['no-cache', 'private'])

/**
 * Of a directive that is said twice the first counts (section 4.2.1 leaves it open: it, or none of them). Those that
 * forbid something add up: the most restrictive is to be honoured.
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

/** Commas inside a quoted string are part of it. A quote that is never closed is a character like others. */
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
 * to take that for stale (section 4.2.1). More than 2^31 are 2^31 (section 1.2.2).
 */
export function seconds(directives: Directives, name: string): number | undefined {
  const value = directives.get(name)
  if (value === undefined) return undefined
  return value !== true && /^\d+$/.test(value) ? Math.min(Number(value), 2 ** 31) : 0
}

/** The fields, in lower case, that `no-cache="…"` or `private="…"` is about; empty when it is absent or about all. */
export function fieldsNamedBy(directives: Directives, name: 'no-cache' | 'private'): string[] {
  const value = directives.get(name)
  return typeof value === 'string' ? membersOf(value.toLowerCase()) : []
}

/** Undefined when the field is to be ignored as a whole: absent, empty, or not what it must be (RFC 9213, section 2). */
function readTargeted(value: string | undefined): Directives | undefined {
  const dictionary = value === undefined ? undefined : readDictionary(value)
  if (!dictionary || dictionary.size === 0) return undefined
  const found = new Map<string, string | true>()
  for (const [name, item] of dictionary) {
    const isSeconds = item.kind === 'integer' && item.value >= 0
    // Nothing else may be made into a number: caches would differ in what they make of it.
    if (IN_SECONDS.has(name) && !isSeconds) return undefined
    if (item.kind === 'boolean' && !item.value) continue
    if (isSeconds) found.set(name, String(item.value))
    else add(found, name, item.kind === 'string' ? item.value : true)
  }
  return found
}

const IN_SECONDS = new Set(['max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error'])
