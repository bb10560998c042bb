/**
 * A dictionary as a structured field (RFC 8941, section 3.2): one member that violates the grammar makes the whole
 * field invalid, as the RFC requires. Parameters are parsed and ignored, because no caller needs them.
 */
import { trimBlanks } from '../../../http/index.ts'

export type Item =
  | { kind: 'integer'; value: number }
  | { kind: 'string'; value: string }
  | { kind: 'boolean'; value: boolean }
  /** Decimals, tokens, byte sequences and inner lists. */
  | { kind: 'other' }

const KEY = '[a-z*][a-z0-9_.*-]*'
const INTEGER = '-?\\d{1,15}(?![\\d.])'
const DECIMAL = '-?\\d{1,12}\\.\\d{1,3}(?!\\d)'
const STRING = '"(?:[ !#-\\[\\]-~]|\\\\["\\\\])*"'
const TOKEN = "[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*"
const BYTES = ':[A-Za-z0-9+/=]*:'
const BARE = `(?:${INTEGER}|${DECIMAL}|${STRING}|${TOKEN}|${BYTES}|\\?[01])`
const PARAMETERS = `(?:; *${KEY}(?:=${BARE})?)*`
const INNER_LIST = `\\( *(?:${BARE}${PARAMETERS}(?: +|(?=\\))))*\\)`

const MEMBER = new RegExp(`(${KEY})(?:=(${BARE}|${INNER_LIST}))?${PARAMETERS}`, 'y')
const COMMA = /[ \t]*,[ \t]*/y

/** Undefined when it is malformed. Of a repeated key the last value counts. */
export function readDictionary(field: string): Map<string, Item> | undefined {
  const text = trimBlanks(field)
  const members = new Map<string, Item>()
  let at = 0
  while (at < text.length) {
    MEMBER.lastIndex = at
    const [member, key, value] = MEMBER.exec(text) ?? []
    if (member === undefined || key === undefined) return undefined
    members.set(key, value === undefined ? { kind: 'boolean', value: true } : toItem(value))
    at += member.length
    if (at === text.length) break
    COMMA.lastIndex = at
    const [comma] = COMMA.exec(text) ?? []
    // Only a comma may separate members, and no comma may be the last character.
    if (comma === undefined || at + comma.length === text.length) return undefined
    at += comma.length
  }
  return members
}

function toItem(text: string): Item {
  if (/^-?\d+$/.test(text)) return { kind: 'integer', value: Number(text) }
  if (text.startsWith('"')) return { kind: 'string', value: text.slice(1, -1).replace(/\\(.)/g, '$1') }
  if (text.startsWith('?')) return { kind: 'boolean', value: text === '?1' }
  return { kind: 'other' }
}
