/** The headers that rules may set, and what they change in a response. */
import { RULE_LIMITS } from './limits.ts'
import { RuleRefused } from './rules.ts'

/** By name in lower case: the value, or null for a header that the response does not get. */
export type HeaderChanges = ReadonlyMap<string, string | null>

/** Which headers the edge sets itself, because a response without them would be invalid or wrong. */
const OF_EDGE: ReadonlySet<string> = new Set([
  'accept-ranges',
  'age',
  'allow',
  'alt-svc',
  'cache-status',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'keep-alive',
  'location',
  'server',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The name in lower case. Throws where a rule may not change the header. */
export function checkHeaderName(written: string): string {
  const name = written.toLowerCase()
  if (!TOKEN.test(name)) throw new RuleRefused(`${quoted(written)} is not the name of a header.`)
  if (name === 'set-cookie')
    throw new RuleRefused('Set-Cookie cannot be set: browsers and proxies store files for all visitors.')
  // At Netlify it asks for a password. Sent as a header, it would show the passwords to everyone.
  if (name === 'basic-auth')
    throw new RuleRefused('Basic-Auth protects nothing here: give the environment a password instead.')
  if (OF_EDGE.has(name) || name.startsWith('proxy-'))
    throw new RuleRefused(`${quoted(written)} cannot be changed, because the edge sets it itself.`)
  return name
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/

/** The value without blanks around it. */
export function checkHeaderValue(name: string, written: string): string {
  const value = written.trim()
  if (value === '') throw new RuleRefused(`${quoted(name)} has no value.`)
  if (value.length > RULE_LIMITS.textLength)
    throw new RuleRefused(`the value of ${quoted(name)} has more than ${RULE_LIMITS.textLength} characters.`)
  if (!VISIBLE.test(value))
    throw new RuleRefused(`the value of ${quoted(name)} has a control character, or one that is not ASCII.`)
  return value
}

const VISIBLE = /^[\t -~]*$/

/** Text of a file in a message. */
export const quoted = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** The headers `[name, value, …]` of a response, with names in lower case, after the changes. */
export function changeHeaders(headers: readonly string[], changes: HeaderChanges): string[] {
  const changed: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    if (name === 'vary' || !changes.has(name)) changed.push(name, headers[at + 1] as string)
  }
  for (const [name, value] of changes) if (value !== null) changed.push(name, value)
  return changed
}

/** A 304 updates what the client has stored, but does not describe content again (RFC 9110, section 15.4.5). */
export function withoutContent(changes: HeaderChanges): HeaderChanges {
  return new Map([...changes].filter(([name]) => !OF_CONTENT.has(name)))
}

const OF_CONTENT: ReadonlySet<string> = new Set(['content-disposition', 'content-language', 'content-type'])
