/** The blocks of a page as HTML, with anchors for links. */
import { type Html, html } from '../html.ts'
import type { Block } from './blocks.ts'
import { inline, plain, type Resolve } from './inline.ts'

export type Heading = { level: number; text: string; id: string }
export type Rendered = { body: Html; headings: Heading[] }

/** How the text of a block of code is shown. */
export type Colour = (language: string, text: string) => Html

const uncoloured: Colour = (_, text) => html`${text}`

export function render(blocks: readonly Block[], resolve: Resolve, colour: Colour = uncoloured): Rendered {
  const idOf = uniqueIds()
  const headings: Heading[] = []

  function one(block: Block): Html {
    switch (block.kind) {
      case 'heading':
        return heading(block.level, block.text)
      case 'paragraph':
        return html`<p>${inline(block.text, resolve)}</p>\n`
      case 'code':
        return html`<pre tabindex="0"><code>${colour(block.language, block.text)}</code></pre>\n`
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

  /** Roles are explicit, because browsers drop them where a narrow screen shows each row as a block. */
  function table(head: readonly string[], rows: readonly string[][]): Html {
    const labels = head.map(plain)
    // An empty heading is left out.
    const cells = head.map((cell) =>
      cell.trim() === ''
        ? html`<td role="cell"></td>`
        : html`<th role="columnheader" scope="col">${inline(cell, resolve)}</th>`,
    )
    return html`<div class="${head.length > 3 ? 'table wide' : 'table'}" role="group" aria-label="Table: ${labels.filter(Boolean).join(', ')}" tabindex="0"><table role="table">
<thead role="rowgroup"><tr role="row">${cells}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`\n${rowOf(row, labels)}`)}</tbody></table></div>\n`
  }

  /** A row whose first cell is code, such as a reason or a setting, gets an anchor of that name. */
  function rowOf(row: readonly string[], labels: readonly string[]): Html {
    const name = /^`([\w.-]+)`$/.exec(row[0] ?? '')?.[1]
    const cells = row.map(
      (cell, at) => html`<td role="cell" data-label="${labels[at] ?? ''}">${inline(cell, resolve)}</td>`,
    )
    return name === undefined
      ? html`<tr role="row">${cells}</tr>`
      : html`<tr role="row" id="${idOf(name)}">${cells}</tr>`
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

/** The same anchors as on GitHub, so that a link to a heading works in both places. */
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
