/** What a search looks at: pages cut into parts at their headings. */
import { setImmediate } from 'node:timers/promises'
import { type Block, blocksOf } from './blocks.ts'
import { plain } from './inline.ts'
import { type Part, type PartText, searchable } from './match.ts'
import type { ManualPage } from './pages.ts'
import { render } from './render.ts'

/** The sections of each page. One page at a time, so that the event loop is not blocked by all of them. */
export async function partsOf(pages: Iterable<ManualPage>): Promise<Part[]> {
  const parts: Part[] = []
  for (const page of pages) {
    parts.push(...partsOfOne(page).map(searchable))
    await setImmediate()
  }
  return parts
}

export function partsOfOne({ address, title, text }: ManualPage): PartText[] {
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
  return parts.map(({ address: at, heading, texts }) => ({
    address: at,
    page: title,
    heading,
    text: texts.join(' ').replaceAll(/\s+/g, ' '),
  }))
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
