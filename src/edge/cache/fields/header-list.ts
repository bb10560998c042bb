/** Raw header fields, and how to read one of them. */
import { trimBlanks } from '../../../http/index.ts'

/** `[name, value, name, value, …]`, as received. */
export type HeaderList = readonly string[]

/** A request's headers as node:http gives them: lower-case names. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

/** All values of a field as one list (RFC 9110, section 5.2); undefined when it is absent. The name in lower case. */
export function fieldOf(headers: HeaderList, name: string): string | undefined {
  let found: string | undefined
  for (let at = 0; at < headers.length; at += 2) {
    if (!isNamed(headers[at] ?? '', name)) continue
    const value = headers[at + 1] ?? ''
    found = found === undefined ? value : `${found}, ${value}`
  }
  return found
}

/** The first line of a field that has one value by definition, such as Date: of two, the first counts. */
export function firstOf(headers: HeaderList, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at] ?? '', name)) return headers[at + 1]
  }
  return undefined
}

export function requestField(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The members of a comma-separated list, without the empty ones (RFC 9110, section 5.6.1). */
export function membersOf(list: string): string[] {
  return list
    .split(',')
    .map(trimBlanks)
    .filter((member) => member !== '')
}

/** Character by character, because a lower-case copy of every header name would have to be allocated. */
function isNamed(candidate: string, name: string): boolean {
  if (candidate.length !== name.length) return false
  if (candidate === name) return true
  for (let at = 0; at < name.length; at++) {
    const code = candidate.charCodeAt(at)
    const lower = code >= 65 && code <= 90 ? code + 32 : code
    if (lower !== name.charCodeAt(at)) return false
  }
  return true
}
