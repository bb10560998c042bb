/** Reads `[[redirects]]` and `[[headers]]` of netlify.toml. Its other tables do not concern us. */
import { parse, TomlError } from 'smol-toml'
import { type HeaderRule, type ParsedFile, type RedirectRule, RuleRefused } from '../rules.ts'
import { warningOf } from '../warnings.ts'
import { readHeaderList } from './header-list.ts'
import { readNetlifyPath } from './netlify-path.ts'
import { toRedirect } from './netlify-redirect.ts'

type Table = Record<string, unknown>

export function parseNetlifyToml(text: string): ParsedFile {
  const parsed: ParsedFile = { redirects: [], headers: [], warnings: [] }
  let content: Table
  try {
    content = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [message = ''] = error.message.split('\n')
    parsed.warnings.push({ line: error.line, message: `the file is not valid TOML, and is left out: ${message}` })
    return parsed
  }

  function readTables(key: 'redirects' | 'headers', read: (table: Table, line: number | undefined) => void) {
    const tables = content[key]
    if (tables === undefined) return
    const lines = linesOf(text, key)
    if (!Array.isArray(tables)) {
      parsed.warnings.push({ line: lines[0], message: `${key} must be a list of tables: [[${key}]]. It is left out.` })
      return
    }
    for (const [at, table] of tables.entries()) {
      const line = lines.length === tables.length ? lines[at] : lines[0]
      try {
        if (!isTable(table)) throw new RuleRefused(`${key} must be a list of tables: [[${key}]].`)
        read(table, line)
      } catch (error) {
        parsed.warnings.push(warningOf(error, line))
      }
    }
  }

  readTables('redirects', (table, line) => parsed.redirects.push({ ...readRedirect(table), line }))
  readTables('headers', (table, line) => {
    const refuse = (error: unknown) => parsed.warnings.push(warningOf(error, line))
    parsed.headers.push({ ...readHeaders(table, refuse), line })
  })
  return parsed
}

/** The parser reports no lines: those where a table of this name, or the list of all, begins. */
function linesOf(text: string, key: 'redirects' | 'headers'): number[] {
  const begins = BEGINS[key]
  return text.split('\n').flatMap((line, at) => (begins.test(line) ? [at + 1] : []))
}

const BEGINS = {
  redirects: /^[ \t]*(?:\[\[[ \t]*"?redirects"?[ \t]*\]\]|"?redirects"?[ \t]*=)/,
  headers: /^[ \t]*(?:\[\[[ \t]*"?headers"?[ \t]*\]\]|"?headers"?[ \t]*=[ \t]*\[)/,
}

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** Some keys had other names, which Netlify still reads. */
function readRedirect(table: Table): RedirectRule {
  const { status, force = false } = table
  for (const [key, what] of Object.entries(UNSUPPORTED))
    if (table[key] !== undefined && !isEmptyTable(table[key]))
      throw new RuleRefused(`${what} (${key}) are not supported.`)
  if (typeof force !== 'boolean') throw new RuleRefused('"force" must be true or false.')
  const code = status === undefined ? undefined : Number(status)
  if (code !== undefined && !Number.isInteger(code)) throw new RuleRefused('"status" must be a number.')
  const query = table.query ?? table.params ?? table.parameters ?? {}
  if (!isTable(query)) throw new RuleRefused('"query" must be a table.')
  const conditions = table.conditions ?? {}
  if (!isTable(conditions)) throw new RuleRefused('"conditions" must be a table.')
  return toRedirect({
    from: stringIn(table, 'from', 'origin') ?? missing('from'),
    to: stringIn(table, 'to', 'destination'),
    query: Object.entries(query).map(([name, value]) => [name, String(value)]),
    status: code,
    isForced: force,
    conditions: Object.keys(conditions),
  })
}

const UNSUPPORTED = {
  headers: 'headers for the other host',
  signed: 'signed requests',
  signing: 'signed requests',
  sign: 'signed requests',
  rate_limit: 'rate limits',
  edge_handler: 'edge handlers',
  edge_handlers: 'edge handlers',
}

const isEmptyTable = (value: unknown): boolean => isTable(value) && Object.keys(value).length === 0

function readHeaders(table: Table, refuse: (error: unknown) => void): HeaderRule {
  const { pattern, names } = readNetlifyPath(stringIn(table, 'for') ?? missing('for'))
  const { values = {} } = table
  if (!isTable(values)) throw new RuleRefused('"values" must be a table.')
  const entries = Object.entries(values).map(([name, value]) => (): [string, string] => {
    const text = Array.isArray(value) ? value.map(String).join(', ') : String(value)
    // A value may be written on several lines.
    return [
      name,
      text
        .trim()
        .split(/\r?\n/)
        .map((line) => line.trim())
        .join(' '),
    ]
  })
  const set = readHeaderList(entries, { names, refuse })
  return { for: pattern, ...(set.length > 0 ? { set } : {}) }
}

function stringIn(table: Table, ...keys: string[]): string | undefined {
  for (const key of keys) {
    const value = table[key]
    if (value === undefined) continue
    if (typeof value !== 'string') throw new RuleRefused(`"${key}" must be a string.`)
    return value.trim()
  }
  return undefined
}

function missing(key: string): never {
  throw new RuleRefused(`it has no "${key}".`)
}
