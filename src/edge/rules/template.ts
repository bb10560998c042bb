/** Destinations and header values with references to what a pattern captured. */
import { RULE_LIMITS } from './limits.ts'
import { type Captures, ENCODED_SLASH } from './path.ts'
import { type Destination, type Reference, RuleRefused, type Template } from './rules.ts'

type Reading = {
  /** The names that the pattern captures. */
  names: ReadonlySet<string>
  /** The name of each capture by its number, for `$1`. */
  numbered?: readonly string[]
  /** `:path*` and `:path+` are references to `path`, as in path-to-regexp. */
  hasModifiers?: boolean
}

const REFERENCE = /:([A-Za-z]\w*)([*+]?)|\$([1-9]\d?)/g

/** Text with a colon that is no reference to a capture stays as it is. */
export function readTemplate(text: string, { names, numbered = [], hasModifiers = false }: Reading): Template {
  const parts: (string | Reference)[] = []
  let references = 0
  let at = 0
  for (const found of text.matchAll(REFERENCE)) {
    const [whole, named, modifier, number] = found
    const ref = named ?? numbered[Number(number) - 1]
    if (ref === 'splat' && !names.has(ref)) throw new RuleRefused('it uses :splat, but its path has no *.')
    if (ref === undefined || !names.has(ref)) continue
    if (++references > RULE_LIMITS.references)
      throw new RuleRefused(`it has more than ${RULE_LIMITS.references} placeholders.`)
    const length = modifier !== '' && !hasModifiers ? whole.length - 1 : whole.length
    if (found.index > at) parts.push(text.slice(at, found.index))
    parts.push({ ref, ...(hasModifiers && modifier === '*' ? { isOptional: true } : {}) })
    at = found.index + length
  }
  if (parts.length === 0) return text
  if (at < text.length) parts.push(text.slice(at))
  return parts
}

/** A path of the same site, or an http or https URL. */
export function readDestination(text: string, reading: Reading): Destination {
  if (text.length > RULE_LIMITS.textLength)
    throw new RuleRefused(`its destination has more than ${RULE_LIMITS.textLength} characters.`)
  const [, origin = '', path = '', query, hash] = PARTS.exec(text) ?? []
  const template = (part: string) => readTemplate(toAscii(part), reading)
  const rest = {
    ...(query === undefined ? {} : { query: template(query) }),
    ...(hash === undefined ? {} : { hash: template(hash) }),
  }
  if (origin === '') {
    if (!path.startsWith('/')) throw new RuleRefused('its destination must begin with "/", "http://" or "https://".')
    // Browsers take both for the beginning of a host name.
    if (/^\/[/\\]/.test(path))
      throw new RuleRefused('its destination begins with "//": write "https://" before a host.')
    return { path: template(path), ...rest }
  }
  return { origin: readOrigin(origin), path: template(path === '' ? '/' : path), ...rest }
}

const PARTS = /^(https?:\/\/[^/?#\\]*)?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is

function readOrigin(text: string): string {
  if (!/^https?:\/\/[\w.-]+(?::\d{1,5})?$/i.test(text) || !URL.canParse(text))
    throw new RuleRefused('the host of its destination must be a name with or without a port, without a placeholder.')
  return new URL(text).origin
}

/** A Location has ASCII only, and no spaces. */
function toAscii(text: string): string {
  if (!text.isWellFormed()) throw new RuleRefused('its destination is not valid Unicode.')
  return text.replaceAll(/[^!-~]/gu, encodeURIComponent)
}

/** How a captured value is written: each place of a URL has other characters that must be encoded. */
export const IN_PATH = (value: string): string => value.split('/').map(encodeSegment).join('/')
export const IN_QUERY = (value: string): string => encode(value)

export function fillTemplate(template: Template, captures: Captures, write: (value: string) => string): string {
  if (typeof template === 'string') return template
  let text = ''
  for (const part of template) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    const value = captures[part.ref] ?? ''
    if (value === '' && part.isOptional && text.length > 1 && text.endsWith('/')) text = text.slice(0, -1)
    text += write(value)
  }
  return text
}

const encode = (value: string): string => encodeURIComponent(value).replaceAll(ENCODED, '%2F')
const ENCODED = encodeURIComponent(ENCODED_SLASH)

/** These mean themselves in a path (RFC 3986, section 3.3). */
const encodeSegment = (value: string): string =>
  encode(value).replaceAll(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
