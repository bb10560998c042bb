/**
 * The blocks of a Markdown page: headings, paragraphs, lists, tables, quotes and code. This is the part of GitHub's
 * Markdown that our own pages use; a test renders all of them. The pages are part of the service, so the input is
 * trusted. HTML in a page is text.
 */

export type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'table'; head: string[]; rows: string[][] }
  | { kind: 'list'; start: number | undefined; isTight: boolean; items: Block[][] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'rule' }

export const blocksOf = (text: string): Block[] => read(text.split(/\r?\n/))

const FENCE = /^(`{3,}|~{3,})\s*([^\s`]*)/
const HEADING = /^(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/
const RULE = /^(?:-{3,}|\*{3,}|_{3,})\s*$/
const ITEM = /^([-*+]|\d{1,9}[.)])( +)(?=\S)/
const DELIMITERS = /^\|(?:\s*:?-+:?\s*\|)+\s*$/

/** Each reader takes the lines of its own block. */
function read(lines: readonly string[]): Block[] {
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      at++
      continue
    }
    const { block, taken } = readOne(lines.slice(at), line)
    blocks.push(block)
    at += taken
  }
  return blocks
}

type Taken = { block: Block; taken: number }

function readOne(lines: readonly string[], line: string): Taken {
  const heading = HEADING.exec(line)
  if (heading) {
    return { block: { kind: 'heading', level: heading[1]?.length ?? 1, text: heading[2] ?? '' }, taken: 1 }
  }
  if (FENCE.test(line)) return code(lines, line)
  if (RULE.test(line)) return { block: { kind: 'rule' }, taken: 1 }
  if (line.startsWith('>')) return quote(lines)
  if (isTable(lines)) return table(lines)
  if (ITEM.test(line)) return list(lines)
  return paragraph(lines)
}

function code(lines: readonly string[], line: string): Taken {
  const [, fence = '```', language = ''] = FENCE.exec(line) ?? []
  const end = lines.findIndex((each, index) => index > 0 && each.trimEnd() === fence)
  const inside = lines.slice(1, end === -1 ? lines.length : end)
  return { block: { kind: 'code', language, text: inside.join('\n') }, taken: inside.length + (end === -1 ? 1 : 2) }
}

function quote(lines: readonly string[]): Taken {
  const end = lines.findIndex((line) => !line.startsWith('>'))
  const own = end === -1 ? lines : lines.slice(0, end)
  return { block: { kind: 'quote', blocks: read(own.map((line) => line.replace(/^> ?/, ''))) }, taken: own.length }
}

const isTable = ([head = '', delimiters = '']: readonly string[]): boolean =>
  head.startsWith('|') && DELIMITERS.test(delimiters)

function table(lines: readonly string[]): Taken {
  const end = lines.findIndex((line) => !line.startsWith('|'))
  const [head = '', , ...rows] = end === -1 ? lines : lines.slice(0, end)
  return { block: { kind: 'table', head: cells(head), rows: rows.map(cells) }, taken: rows.length + 2 }
}

/** A bar within a cell is written `\|`, also in code. */
const cells = (line: string): string[] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

/** The lines of an item are indented to the right of its marker; a paragraph of it may continue at the left. */
function list(lines: readonly string[]): Taken {
  const isOrdered = /^\d/.test(lines[0] ?? '')
  const items: string[][] = []
  let [at, isTight] = [0, true]
  while (at < lines.length) {
    const [marker = '', kind = ''] = ITEM.exec(lines[at] ?? '') ?? []
    if (marker === '' || /^\d/.test(kind) !== isOrdered) break
    const { own, next } = itemFrom(lines, at, marker.length)
    if (hasGap(own) || (next.gap && ITEM.test(lines[next.at] ?? ''))) isTight = false
    items.push(own)
    at = next.at
  }
  const start = isOrdered ? Number.parseInt(lines[0] ?? '1', 10) : undefined
  return { block: { kind: 'list', start, isTight, items: items.map(read) }, taken: at }
}

function itemFrom(lines: readonly string[], from: number, width: number) {
  const own = [(lines[from] ?? '').slice(width)]
  let [at, blank] = [from + 1, 0]
  for (; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      blank++
      continue
    }
    const isInside = line.startsWith(' '.repeat(width))
    // An unindented line right after a paragraph of the item belongs to it, unless it begins a block.
    const isLazy = blank === 0 && !begins(line.trimStart(), lines.slice(at))
    if (!isInside && !isLazy) break
    own.push(...Array<string>(blank).fill(''), isInside ? line.slice(width) : line.trimStart())
    blank = 0
  }
  return { own, next: { at, gap: blank > 0 } }
}

/** Whether there is an empty line between blocks of one item; those within code do not count. */
function hasGap(lines: readonly string[]): boolean {
  let fence: string | undefined
  for (const line of lines) {
    const mark = FENCE.exec(line)?.[1]
    if (fence !== undefined) fence = line.trimEnd() === fence ? undefined : fence
    else if (mark !== undefined) fence = mark
    else if (line.trim() === '') return true
  }
  return false
}

function paragraph(lines: readonly string[]): Taken {
  const end = lines.findIndex((line, at) => at > 0 && (line.trim() === '' || begins(line, lines.slice(at))))
  const own = end === -1 ? lines : lines.slice(0, end)
  return { block: { kind: 'paragraph', text: own.map((line) => line.trim()).join('\n') }, taken: own.length }
}

const begins = (line: string, rest: readonly string[]): boolean =>
  HEADING.test(line) || FENCE.test(line) || line.startsWith('>') || ITEM.test(line) || isTable(rest)
