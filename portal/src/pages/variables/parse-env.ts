/**
 * Parses a `.env` file: `NAME=value` lines, as dotenv and shells write them. Errors are reported line by line; nothing
 * is guessed. References such as `${OTHER}` are not expanded.
 *
 *   bare value      to the end of the line or a `#` after a space, without the spaces around it
 *   'single', `back` as written, over as many lines as it takes
 *   "double"        the same, with \n \r \t \" \\ \$ for what cannot be written
 */

export type EnvEntry = { line: number; key: string; value: string }
export type EnvFault = { line: number; text: string; why: string }
export type EnvFile = { entries: EnvEntry[]; faults: EnvFault[] }

const HEAD = /^[ \t]*(?:export[ \t]+)?([^\s=#'"`]+)[ \t]*=[ \t]*/
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

/** Of several lines with the same name the last counts, as in dotenv. */
export function parseEnv(given: string): EnvFile {
  const text = given.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n')
  const entries = new Map<string, EnvEntry>()
  const faults: EnvFault[] = []

  for (let [start, line] = [0, 1]; start < text.length; ) {
    const end = endOfLine(text, start)
    const read = readAt(text, start, end)
    if (read && 'why' in read) faults.push({ line, text: text.slice(start, end), why: read.why })
    if (read && 'key' in read) {
      // Deleted first, so that the order is that of the lines that count.
      entries.delete(read.key)
      entries.set(read.key, { line, key: read.key, value: read.value })
    }
    const next = (read && 'key' in read ? read.end : end) + 1
    line += text.slice(start, next).split('\n').length - 1
    start = next
  }
  return { entries: [...entries.values()], faults }
}

const endOfLine = (text: string, from: number): number => {
  const found = text.indexOf('\n', from)
  return found === -1 ? text.length : found
}

type Read = { key: string; value: string /** Where its last line ends. */; end: number } | { why: string } | undefined

/**
 * Parses the line from `start` to `end`, and the further lines of its value; undefined for an empty line or a comment.
 */
function readAt(text: string, start: number, end: number): Read {
  const line = text.slice(start, end)
  if (/^\s*(?:#|$)/.test(line)) return undefined
  const head = HEAD.exec(line)
  if (!head) return { why: 'is not of the form NAME=value' }
  const key = head[1] ?? ''
  if (!NAME.test(key)) return { why: 'has a name with other characters than letters, digits and underscores' }
  const rest = line.slice(head[0].length)
  const quote = rest[0]
  if (quote !== '"' && quote !== "'" && quote !== '`') return { key, value: bare(rest), end }

  const quoted = readQuoted(text, start + head[0].length + 1, quote)
  if (!quoted) return { why: `has no closing ${quote}` }
  const last = endOfLine(text, quoted.end)
  if (!/^[ \t]*(?:#.*)?$/.test(text.slice(quoted.end, last))) return { why: `has more text after the closing ${quote}` }
  return { key, value: quoted.value, end: last }
}

const bare = (rest: string): string => (rest.startsWith('#') ? '' : rest.replace(/[ \t]#.*$/, '').trim())

/** `start` is after the opening quote, `end` after the closing one. */
function readQuoted(text: string, start: number, quote: string): { value: string; end: number } | undefined {
  let value = ''
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string
    if (character === quote) return { value, end: at + 1 }
    const escaped = quote === '"' && character === '\\' ? ESCAPES[text[at + 1] ?? ''] : undefined
    if (escaped !== undefined) at++
    value += escaped ?? character
  }
  return undefined
}
