/** Reads what vercel.json says about redirects, rewrites, headers and URLs of pages. Its other settings do not concern us. */

import { type HeaderRule, isKnownStatus, type ParsedFile, type RedirectRule, RuleRefused } from '../rules.ts'
import { readDestination } from '../template.ts'
import { warningOf } from '../warnings.ts'
import { readHeaderList } from './header-list.ts'
import { linesOfJson } from './json-lines.ts'
import { type ReadSource, readVercelPath } from './vercel-path.ts'

type Entry = Record<string, unknown>

export function parseVercelJson(text: string): ParsedFile {
  const parsed: ParsedFile = { redirects: [], headers: [], warnings: [] }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    parsed.warnings.push({
      line: undefined,
      message: `it is not valid JSON, and is left out: ${(error as Error).message}`,
    })
    return parsed
  }
  if (!isEntry(content)) {
    parsed.warnings.push({ line: undefined, message: 'it must have one JSON object, and is left out.' })
    return parsed
  }
  const lineOf = linesOfJson(text)

  function readList(key: string, read: (entry: Entry, line: number | undefined) => void) {
    const list = (content as Entry)[key]
    if (list === undefined) return
    if (!Array.isArray(list)) {
      parsed.warnings.push({ line: lineOf(key), message: `"${key}" must be a list. It is left out.` })
      return
    }
    for (const [at, entry] of list.entries()) {
      const line = lineOf(`${key}.${at}`)
      try {
        if (!isEntry(entry)) throw new RuleRefused(`"${key}" must have objects.`)
        read(entry, line)
      } catch (error) {
        parsed.warnings.push(warningOf(error, line))
      }
    }
  }

  readList('redirects', (entry, line) => {
    for (const rule of toRedirects(entry, statusOf(entry), true)) parsed.redirects.push({ ...rule, line })
  })
  readList('rewrites', (entry, line) => {
    for (const rule of toRedirects(entry, 200, false)) parsed.redirects.push({ ...rule, line })
  })
  readList('headers', (entry, line) => {
    const refuse = (error: unknown) => parsed.warnings.push(warningOf(error, line))
    for (const rule of toHeaders(entry, refuse)) parsed.headers.push({ ...rule, line })
  })
  for (const key of ['routes', 'bulkRedirectsPath'])
    if (content[key] !== undefined)
      parsed.warnings.push({
        line: lineOf(key),
        message: `"${key}" is not supported. Write redirects, rewrites and headers instead.`,
      })
  readUrls(content, lineOf, parsed)
  return parsed
}

function readUrls(content: Entry, lineOf: (path: string) => number | undefined, parsed: ParsedFile) {
  const { cleanUrls, trailingSlash } = content
  if (cleanUrls === true) parsed.cleanUrls = true
  else if (cleanUrls !== undefined)
    parsed.warnings.push({
      line: lineOf('cleanUrls'),
      message: 'only "cleanUrls": true has an effect: pages always have a URL without .html as well.',
    })
  if (typeof trailingSlash === 'boolean') parsed.trailingSlash = trailingSlash
  else if (trailingSlash !== undefined)
    parsed.warnings.push({
      line: lineOf('trailingSlash'),
      message: '"trailingSlash" must be true or false. It is left out.',
    })
}

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null && !Array.isArray(value)

function statusOf({ permanent, statusCode }: Entry): number {
  if (typeof permanent === 'boolean') return permanent ? 308 : 307
  return statusCode === undefined ? 308 : Number(statusCode)
}

/** At Vercel, redirects apply before files, and rewrites after them. */
function toRedirects(entry: Entry, status: number, isForced: boolean): RedirectRule[] {
  const source = readSource(entry)
  if (!isKnownStatus(status)) throw new RuleRefused(`the status ${status} is not supported.`)
  const to = readDestination(stringIn(entry, 'destination'), { ...source, hasModifiers: true })
  return source.patterns.map((from) => ({
    from,
    ...(source.slash === undefined ? {} : { slash: source.slash }),
    to,
    status,
    ...(isForced ? { force: true } : {}),
  }))
}

function toHeaders(entry: Entry, refuse: (error: unknown) => void): HeaderRule[] {
  const source = readSource(entry)
  const { headers } = entry
  if (!Array.isArray(headers)) throw new RuleRefused('"headers" must be a list.')
  const entries = headers.map((header) => (): [string, string] => {
    if (!isEntry(header)) throw new RuleRefused('"headers" must have objects with "key" and "value".')
    return [stringIn(header, 'key'), stringIn(header, 'value')]
  })
  const set = readHeaderList(entries, { ...source, refuse })
  if (set.length === 0) return []
  return source.patterns.map((pattern) => ({
    for: pattern,
    ...(source.slash === undefined ? {} : { slash: source.slash }),
    set,
    replaces: true,
  }))
}

function readSource(entry: Entry): ReadSource {
  for (const key of ['has', 'missing'])
    if (entry[key] !== undefined) throw new RuleRefused(`the condition "${key}" is not supported.`)
  return readVercelPath(stringIn(entry, 'source'))
}

function stringIn(entry: Entry, key: string): string {
  const value = entry[key]
  if (typeof value !== 'string') throw new RuleRefused(`"${key}" must be a string.`)
  return value
}
