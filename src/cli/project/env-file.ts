/**
 * Files with variables, as `.env`. Values are parsed as by Node's own `--env-file`. Node skips lines that it cannot read, and
 * takes an indented comment for a name; here such lines are reported as faults. What other hosts export is read as they
 * write it.
 */
import { parseEnv } from 'node:util'
import { LIMITS, names } from '../../contract/index.ts'
import { type EnvEntry, type EnvFault, isJson, isOfVercel, readJson, readLineOfVercel } from './exported-variables.ts'

/** More than all variables of an environment take, with comments. */
export const ENV_FILE_BYTES = 2 * LIMITS.variableTotalBytes

const KEY = new RegExp(String(names.variableKey.pattern))
const HEAD = /^[ \t]*(?:export[ \t]+)?([^=\n]*?)[ \t]*=[ \t]*/

/** Of several lines with the same name the last counts. */
export function readEnv(given: string): { entries: EnvEntry[]; faults: EnvFault[] } {
  const text = given.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n')
  if (isJson(text)) return readJson(text)
  const lineOf = isOfVercel(text) ? readLineOfVercel : () => undefined
  const entries = new Map<string, EnvEntry>()
  const faults: EnvFault[] = []
  for (let [start, line] = [0, 1]; start < text.length; ) {
    const found = lineOf(text.slice(start, endOfLine(text, start)), start) ?? readAt(text, start)
    if ('why' in found) faults.push({ line, why: found.why })
    else if (found.key !== undefined) {
      // Set anew, so that the order is that of the lines that count.
      entries.delete(found.key)
      const value = 'value' in found ? found.value : valueIn(text.slice(found.from, found.end))
      entries.set(found.key, { line, key: found.key, value })
    }
    line += text.slice(start, found.end + 1).split('\n').length - 1
    start = found.end + 1
  }
  return { entries: [...entries.values()], faults }
}

const valueIn = (written: string): string => parseEnv(`A=${written}`).A ?? ''

/** One entry: its name and where its value begins, or what is wrong with it; and where its last line ends. */
type Read = { end: number } & ({ key: string; from: number } | { key: undefined } | { why: string })

function readAt(text: string, start: number): Read {
  const end = endOfLine(text, start)
  const line = text.slice(start, end)
  if (/^\s*(?:#|$)/.test(line)) return { key: undefined, end }
  const [head, key = ''] = HEAD.exec(line) ?? []
  if (head === undefined) return { why: 'is neither NAME=VALUE nor a comment', end }
  if (!KEY.test(key)) return { why: `has '${key}' for a name: letters, digits and underscores can stand in it`, end }
  const quote = line[head.length] ?? ''
  const from = start + head.length
  if (!['"', "'", '`'].includes(quote)) return { key, from, end }
  const closing = text.indexOf(quote, from + 1)
  if (closing === -1) return { why: `has no closing ${quote}`, end }
  const last = endOfLine(text, closing)
  // A quote within the value ends it: what follows would be lost silently.
  if (!/^[ \t]*(?:#.*)?$/.test(text.slice(closing + 1, last)))
    return { why: `has text after the closing ${quote}`, end }
  return { key, from, end: last }
}

function endOfLine(text: string, from: number): number {
  const found = text.indexOf('\n', from)
  return found === -1 ? text.length : found
}
