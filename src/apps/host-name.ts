/**
 * Reads a host name as people write it, and returns the one form in which it is stored and compared: ASCII in lower
 * case, without the dot of a fully qualified name. Browsers send this form as Host, and proxies as SNI.
 */
import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'

/** The longest name and the longest label in DNS (RFC 1035, section 2.3.4). */
const MAX_NAME = 253
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** Programs take 127.1 and 0x7f.0.0.1 for addresses, too (URL Standard, "ends in a number checker"). */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)\.?$/i

export type HostName = { name: string } | { wrong: string }

export function readHostName(text: string): HostName {
  if (ENDS_IN_NUMBER.test(text) || isIP(text.replace(/^\[(.*)\]$/, '$1'))) return { wrong: ADDRESS }
  if (text.includes('*')) return { wrong: 'must be one name: there are no wildcards' }
  if (/[:/?#@\\]/.test(text)) return { wrong: 'must be the host name alone, without a scheme, port or path' }
  // Checked first: the conversion would cut off, decode or drop such characters, and use the rest as the name.
  if (!/^[a-z0-9.\-\u0080-\u{10ffff}]+$/iu.test(text)) return { wrong: MALFORMED }
  const name = domainToASCII(text).replace(/\.$/, '')
  const labels = name.split('.')
  if (name.length > MAX_NAME) return { wrong: `must not have more than ${MAX_NAME} bytes` }
  if (!labels.every((label) => LABEL.test(label))) return { wrong: MALFORMED }
  if (labels.length < 2) return { wrong: 'must have a dot, as www.example.com has' }
  if (ENDS_IN_NUMBER.test(name)) return { wrong: ADDRESS }
  // The conversion accepts a label that only looks encoded; browsers refuse it.
  const isFalse = (label: string) => label.startsWith('xn--') && domainToUnicode(label) === label
  return labels.some(isFalse) ? { wrong: 'has a label with xn-- that is not valid Punycode' } : { name }
}

const ADDRESS = 'must be a name, not an IP address: it must not end in a number'
const MALFORMED =
  'must be labels with dots between them, each of 1 to 63 letters, digits and hyphens, with no hyphen at either end'

/** Whether the name is the other one, or a subdomain of it. */
export const isWithin = (name: string, other: string): boolean => name === other || name.endsWith(`.${other}`)
