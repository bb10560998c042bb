/** The blocks of a page as HTML, and the anchors that links lead to. */
import { type Html, html } from '../html.ts'
import type { Block } from './blocks.ts'
import { inline, plain, type Resolve } from './inline.ts'

export type Heading = { level: number; text: string; id: string }
export type Rendered = { body: Html; headings: Heading[] }

export function render(blocks: readonly Block[], resolve: Resolve): Rendered {
  const idOf = uniqueIds()
  const headings: Heading[] = []

  function one(block: Block): Html {
    switch (block.kind) {
      case 'heading':
        return heading(block.level, block.text)
      case 'paragraph':
        return html`<p>${inline(block.text, resolve)}</p>\n`
      case 'code':
        return html`<pre tabindex="0"><code>${block.text}</code></pre>\n`
      case 'table':
        return table(block.head, block.rows)
      case 'list':
        return list(block)
      case 'quote':
        return html`<blockquote>${block.blocks.map(one)}</blockquote>\n`
      case 'rule':
        return html`<hr>\n`
    }
  }

  function heading(level: number, text: string): Html {
    const id = idOf(anchorOf(text))
    headings.push({ level, text: plain(text), id })
    const inside = level === 1 ? inline(text, resolve) : html`<a href="#${id}">${inline(text, () => undefined)}</a>`
    switch (level) {
      case 1:
        return html`<h1 id="${id}">${inside}</h1>\n`
      case 2:
        return html`<h2 id="${id}">${inside}</h2>\n`
      case 3:
        return html`<h3 id="${id}">${inside}</h3>\n`
      default:
        return html`<h4 id="${id}">${inside}</h4>\n`
    }
  }

  function table(head: readonly string[], rows: readonly string[][]): Html {
    return html`<div class="table" role="group" aria-label="Table: ${head.map(plain).filter(Boolean).join(', ')}" tabindex="0"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${inline(cell, resolve)}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`\n${rowOf(row)}`)}</tbody></table></div>\n`
  }

  /** A row that begins with a name in code, such as a reason or a setting, can be linked to by that name. */
  function rowOf([first = '', ...rest]: readonly string[]): Html {
    const name = /^`([\w.-]+)`$/.exec(first)?.[1]
    const cells = rest.map((cell) => html`<td>${inline(cell, resolve)}</td>`)
    const start = html`<td>${inline(first, resolve)}</td>`
    return name === undefined ? html`<tr>${start}${cells}</tr>` : html`<tr id="${idOf(name)}">${start}${cells}</tr>`
  }

  function list({ start, isTight, items }: Extract<Block, { kind: 'list' }>): Html {
    const entries = items.map((item) => html`<li>${item.map((block) => (isTight ? tight(block) : one(block)))}</li>\n`)
    if (start === undefined) return html`<ul>\n${entries}</ul>\n`
    return start === 1 ? html`<ol>\n${entries}</ol>\n` : html`<ol start="${start}">\n${entries}</ol>\n`
  }

  const tight = (block: Block): Html =>
    block.kind === 'paragraph' ? html`${inline(block.text, resolve)}\n` : one(block)

  const body = html`${blocks.map(one)}`
  return { body, headings }
}

/** As GitHub makes them, so that a link to a heading is right in both places. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

function uniqueIds(): (wanted: string) => string {
  const taken = new Set<string>()
  return (wanted) => {
    let id = wanted
    for (let count = 1; taken.has(id); count++) id = `${wanted}-${count}`
    taken.add(id)
    return id
  }
}
