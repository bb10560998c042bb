/** Finds the parts of pages that have all words of a query. The work is bounded by the size of the documentation. */
import { setImmediate } from 'node:timers/promises'
import { plain } from './inline.ts'
import type { ManualPage } from './pages.ts'
import { anchorOf } from './render.ts'

export type Part = { address: string; page: string; heading: string; text: string; searched: string }
export type Hit = { address: string; page: string; heading: string; excerpt: string }

export const QUERY_LENGTH_MOST = 100
const WORDS_MOST = 8
const HITS_MOST = 30
const AROUND = 90

/** Each page, cut at its headings; a page at a time, so that nothing else waits for all of them. */
export async function partsOf(pages: Iterable<ManualPage>): Promise<Part[]> {
  const parts: Part[] = []
  for (const page of pages) {
    parts.push(...partsOfOne(page))
    await setImmediate()
  }
  return parts
}

function partsOfOne({ address, title, text }: ManualPage): Part[] {
  return text.split(/^(?=#{1,4} )/m).map((part) => {
    const [first = '', ...rest] = part.split('\n')
    const heading = first.replace(/^#+\s+/, '')
    const words = plain(rest.join('\n').replaceAll(/^ *```.*$/gm, ''))
      .replaceAll(/[|\s]+|(?:---)+/g, ' ')
      .trim()
    const at = first.startsWith('# ') ? address : `${address}#${anchorOf(heading)}`
    const name = plain(heading)
    return { address: at, page: title, heading: name, text: words, searched: `${name} ${words}`.toLowerCase() }
  })
}

export function search(parts: readonly Part[], query: string): Hit[] {
  const words = wordsOf(query)
  if (words.length === 0) return []
  return parts
    .filter(({ searched, page }) => words.every((word) => searched.includes(word) || page.toLowerCase().includes(word)))
    .map((part) => ({ part, score: scoreOf(part, words) }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, HITS_MOST)
    .map(({ part: { address, page, heading, text } }) => ({ address, page, heading, excerpt: excerptOf(text, words) }))
}

const wordsOf = (query: string): string[] =>
  query.slice(0, QUERY_LENGTH_MOST).toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MOST)

/** A word in a title counts most, then one in a heading; decisions come after what they decided. */
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
