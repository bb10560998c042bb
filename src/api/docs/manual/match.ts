/**
 * Finds the parts of pages that have all words of a query. The work is bounded by the size of the documentation. The service
 * runs this, and so does a browser on the static site, so it imports nothing.
 */

/** A page from one heading to the next. */
export type PartText = { address: string; page: string; heading: string; text: string }
export type Part = PartText & { searched: string; joined: string }
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

const isIn = ({ searched, page, joined }: Part, word: string): boolean =>
  searched.includes(word) ||
  page.toLowerCase().includes(word) ||
  (word.length >= MIN_JOINED_LENGTH && joined.includes(joinedOf(word)))

/** As it is written, or as one word: `rollback` finds "roll back". */
const has = (text: string, word: string): boolean =>
  text.includes(word) || (word.length >= MIN_JOINED_LENGTH && joinedOf(text).includes(joinedOf(word)))

const joinedOf = (text: string): string => text.replaceAll(/[\s_-]+/g, '')

const wordsOf = (query: string): string[] =>
  query.slice(0, MAX_QUERY_LENGTH).toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS)

/** A word in a title counts most, then one in a heading. Decision records come after the other pages. */
function scoreOf({ address, page, heading }: Part, words: readonly string[]): number {
  const of = (text: string, weight: number) => words.filter((word) => has(text.toLowerCase(), word)).length * weight
  return of(page, 4) + of(heading, 3) - (/(?:^|\/)(?:decisions|changelog)/.test(address) ? 5 : 0)
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const from = Math.max(0, Math.min(...found, text.length) - AROUND)
  const start = found.length === 0 ? 0 : from
  const cut = text.slice(start, start + 2 * AROUND)
  return `${start > 0 ? '… ' : ''}${cut.trim()}${start + 2 * AROUND < text.length ? ' …' : ''}`
}

export function searchable(part: PartText): Part {
  const searched = `${part.heading} ${part.text}`.toLowerCase()
  return { ...part, searched, joined: joinedOf(searched) }
}
