/** Variables in the forms that the command lines of other hosts write: `vercel env pull` and `netlify env:list --json`. */
import { names } from '../../contract/index.ts'

export type EnvEntry = { line: number; key: string; value: string }
export type EnvFault = { line: number; why: string }

const KEY = new RegExp(String(names.variableKey.pattern))

/** The line is the first one, unless there was a file already. */
export const isOfVercel = (text: string): boolean => /^# Created by Vercel CLI$/m.test(text)

/**
 * One line of `vercel env pull`, which starts at `start`. Each is `NAME="value"` with line ends as `\n` and `\r`. Quotes in
 * a value stay as they are, so only the last one of the line ends it. Undefined for a line that someone else wrote.
 */
export function readLineOfVercel(line: string, start: number): Read | undefined {
  const [, key = '', written = ''] = /^([A-Za-z_]\w*)="(.*)"$/.exec(line) ?? []
  if (key === '') return undefined
  const end = start + line.length
  if (written === '[SENSITIVE]')
    return { why: `has ${key}, whose value Vercel keeps back: leave it out, set it by hand`, end }
  return { key, value: written.replaceAll('\\n', '\n').replaceAll('\\r', '\r'), end }
}

type Read = { end: number } & ({ key: string; value: string } | { why: string })

export const isJson = (text: string): boolean => /^\s*\{/.test(text)

/** An object of names with texts. Lines are not known: a fault names the variable. */
export function readJson(text: string): { entries: EnvEntry[]; faults: EnvFault[] } {
  let content: Record<string, unknown>
  try {
    content = JSON.parse(text)
  } catch {
    return { entries: [], faults: [{ line: 1, why: 'begins as JSON, and is not JSON to its end' }] }
  }
  const entries: EnvEntry[] = []
  const faults: EnvFault[] = []
  for (const [key, value] of Object.entries(content)) {
    if (!KEY.test(key))
      faults.push({ line: 1, why: `has '${key}' for a name: letters, digits and underscores can stand in it` })
    else if (typeof value !== 'string') faults.push({ line: 1, why: `has ${key}, whose value is no text` })
    else entries.push({ line: 1, key, value })
  }
  return { entries, faults }
}
