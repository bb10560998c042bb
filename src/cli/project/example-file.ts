/**
 * Which variables a project needs: by convention their names are in `.env.example`. At the first deploy the user is asked for
 * the values; without a terminal the names without a value are listed. Values in the file are examples, and none of them is
 * sent. `.env` is never read here.
 */

import { join, relative, resolve } from 'node:path'
import { printableLine } from '../../base/index.ts'
import type { ShellVariable } from '../../client/index.ts'
import { kindByName, names } from '../../contract/index.ts'
import { countInWords } from '../output/figures.ts'
import type { Report } from '../output/report.ts'
import type { Terminal } from '../output/terminal.ts'
import { confirm } from '../questions.ts'
import { readEnv } from './env-file.ts'
import type { EnvEntry } from './exported-variables.ts'
import { NotPlain, readSmallFile } from './small-files.ts'

export const EXAMPLE_FILES = ['.env.example', '.env.sample', '.env.template', '.env.local.example'] as const

const MAX_BYTES = 64 * 1024
const MAX_NAMES = 100
const MAX_HINT_LENGTH = 60

type Offer = {
  terminal: Terminal
  report: Report
  isAsking: boolean
  /** The folder of the project, and the path below it that holds the app. */
  folder: string
  root: string
  given: readonly ShellVariable[]
}

/** The given variables, and those that the user types now. */
export async function withExample(offer: Offer): Promise<ShellVariable[]> {
  const { terminal, report, isAsking, given } = offer
  const found = await findExample(offer)
  const known = new Set([...given.map(({ key }) => key), ...names.RESERVED_VARIABLES])
  const wanted = found?.entries.filter(({ key }) => !known.has(key)) ?? []
  if (!found || wanted.length === 0) return [...given]
  const asked = isAsking ? await askFor(terminal, found.file, wanted.slice(0, MAX_NAMES)) : []
  const left = wanted.map(({ key }) => key).filter((key) => !asked.some((one) => one.key === key))
  if (left.length > 0) report.note(withoutValue(found.file, left))
  return [...given, ...asked]
}

async function findExample({
  folder,
  root,
  report,
}: Offer): Promise<{ file: string; entries: EnvEntry[] } | undefined> {
  const inner = resolve(folder, root)
  const folders = relative(folder, inner).startsWith('..') ? [folder] : [...new Set([inner, folder])]
  for (const at of folders) {
    for (const name of EXAMPLE_FILES) {
      const file = relative(folder, join(at, name))
      try {
        const found = await readSmallFile(join(at, name), { maxBytes: MAX_BYTES })
        if (found) return { file, entries: readEnv(found.content.toString('utf8')).entries }
      } catch (error) {
        if (!(error instanceof NotPlain)) throw error
        report.note(`${file} is not read: ${error.message}.`)
      }
    }
  }
  return undefined
}

async function askFor(terminal: Terminal, file: string, wanted: readonly EnvEntry[]): Promise<ShellVariable[]> {
  const listed = wanted.map(({ key }) => key).join(', ')
  terminal.say(`\n${printableLine(file)} names ${countInWords(wanted.length, 'variable')}: ${listed}`)
  if (!(await confirm(terminal, 'Give them values now?', true))) return []
  terminal.say('Return alone leaves one out. Secrets are not shown as you type.')
  const given: ShellVariable[] = []
  for (const { key, value: example } of wanted) {
    const isSecret = kindByName(key) === 'SECRET'
    const value = await terminal.ask(`  ${key}${hintOf(example)}: `, isSecret ? { isHidden: true } : undefined)
    if (value !== '') given.push({ key, value })
  }
  return given
}

/** The example value, which shows the expected form. */
function hintOf(example: string): string {
  const line = printableLine(example.replaceAll(/\s+/g, ' ').trim())
  if (line === '') return ''
  return ` (such as ${line.length > MAX_HINT_LENGTH ? `${line.slice(0, MAX_HINT_LENGTH)}…` : line})`
}

function withoutValue(file: string, keys: readonly string[]): string {
  const shown = keys.slice(0, MAX_NAMES)
  const more = keys.length > shown.length ? ` and ${keys.length - shown.length} more` : ''
  const command = `headland variables set ${shown.map((key) => `${key}=VALUE`).join(' ')}`
  return `${printableLine(file)} names variables that have no value: ${shown.join(', ')}${more}.\nTo set them: ${command}\nand then: headland rebuild`
}
