/** Finds the parts of pages that have all words of a query. The work is bounded by the size of the documentation. */
import { setImmediate } from 'node:timers/promises'
import { type Block, blocksOf } from './blocks.ts'
import { plain } from './inline.ts'
import type { ManualPage } from './pages.ts'
import { render } from './render.ts'

export type Part = { address: string; page: string; heading: string; text: string; searched: string; joined: string }
export type Hit = { address: string; page: string; heading: string; excerpt: string }

export const MAX_QUERY_LENGTH = 100
const MAX_WORDS = 8
const MAX_HITS = 30
const AROUND = 90
/**
 * Text with its blanks removed is searched for words of at least this length: shorter ones would match across the ends
 * of unrelated words.
 */
const MIN_JOINED_LENGTH = 6

/** The sections of each page. One page at a time, so that the event loop is not blocked by all of them. */
export async function partsOf(pages: Iterable<ManualPage>): Promise<Part[]> {
  const parts: Part[] = []
  for (const page of pages) {
    parts.push(...partsOfOne(page))
    await setImmediate()
  }
  return parts
}

function partsOfOne({ address, title, text }: ManualPage): Part[] {
  const blocks = blocksOf(text)
  const ids = render(blocks, () => undefined).headings.map(({ id }) => id)
  const parts: { address: string; heading: string; texts: string[] }[] = []
  for (const block of blocks) {
    if (block.kind !== 'heading') parts.at(-1)?.texts.push(wordsIn(block))
    else {
      const id = ids.shift()
      parts.push({ address: block.level === 1 ? address : `${address}#${id}`, heading: plain(block.text), texts: [] })
    }
  }
  return parts.map(({ address: at, heading, texts }) => {
    const words = texts.join(' ').replaceAll(/\s+/g, ' ')
    const searched = `${heading} ${words}`.toLowerCase()
    return { address: at, page: title, heading, text: words, searched, joined: joinedOf(searched) }
  })
}

function wordsIn(block: Block): string {
  switch (block.kind) {
    case 'heading':
    case 'paragraph':
      return plain(block.text)
    case 'code':
      return block.text
    case 'table':
      return [block.head, ...block.rows].flat().map(plain).join(' ')
    case 'list':
      return block.items.flat().map(wordsIn).join(' ')
    case 'quote':
      return block.blocks.map(wordsIn).join(' ')
    case 'rule':
      return ''
  }
}

export function search(parts: readonly Part[], query: string): Hit[] {
  const words = wordsOf(query)
  if (words.length === 0) return []
  return parts
    .filter((part) => words.every((word) => isIn(part, word)))
    .map((part) => ({ part, score: scoreOf(part, words) }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_HITS)
    .map(({ part: { address, page, heading, text } }) => ({ address, page, heading, excerpt: excerptOf(text, words) }))
}

/** As it is written, or as one word: `rollback` finds "roll back". */
const isIn = ({ searched, page, joined }: Part, word: string): boolean =>
  searched.includes(word) ||
  page.toLowerCase().includes(word) ||
  (word.length >= MIN_JOINED_LENGTH && joined.includes(joinedOf(word)))

const joinedOf = (text: string): string => text.replaceAll(/[\s_-]+/g, '')

const wordsOf = (query: string): string[] =>
  query.slice(0, MAX_QUERY_LENGTH).toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS)

/** A word in a title counts most, then one in a heading. Decision records come after the other pages. */
function scoreOf({ address, page, heading }: Part, words: readonly string[]): number {
  const of = (text: string, weight: number) => words.filter((word) => text.toLowerCase().includes(word)).length * weight
  return of(page, 4) + of(heading, 3) - (/\/(?:decisions|changelog)/.test(address) ? 5 : 0)
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const from = Math.max(0, Math.min(...found, text.length) - AROUND)
  const start = found.length === 0 ? 0 : from
  const cut = text.slice(start, start + 2 * AROUND)
  return `${start > 0 ? '… ' : ''}${cut.trim()}${start + 2 * AROUND < text.length ? ' …' : ''}`
}
