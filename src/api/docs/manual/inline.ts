/** Inline Markdown: code, links, images, emphasis. Everything else is text. */
import { type Html, html } from '../html.ts'

/** The address of a link; undefined if it is not served, in which case only its text is shown. */
export type Resolve = (target: string) => string | undefined

const CODE = '(?<ticks>`+)(?<code>[\\s\\S]*?[^`])\\k<ticks>(?!`)'
const ESCAPED = '\\\\(?<escaped>[!-/:-@[-`{-~])'
const TARGET = '\\(<?(?<target>[^)\\s>]+)>?(?:\\s+"[^"]*")?\\)'
const LINK = `(?<picture>!?)\\[(?<words>(?:[^\\[\\]\`]|\`[^\`]*\`|\\[[^\\]]*\\])*)\\]${TARGET}`
const ADDRESS = '<(?<address>https?://[^>\\s]+)>'
const STRONG = '\\*\\*(?=\\S)(?<strong>(?:[^*`]|`[^`]*`|\\*(?!\\*))+(?<=\\S))\\*\\*'
const EMPHASIS = '\\*(?=[^\\s*])(?<emphasis>(?:[^*`]|`[^`]*`)+(?<=\\S))\\*'

const MARKS = new RegExp([CODE, ESCAPED, LINK, ADDRESS, STRONG, EMPHASIS].join('|'), 'g')

export function inline(text: string, resolve: Resolve): Html {
  const parts: Html[] = []
  let at = 0
  for (const match of text.matchAll(MARKS)) {
    parts.push(html`${text.slice(at, match.index)}`, marked(match.groups ?? {}, resolve))
    at = match.index + match[0].length
  }
  return html`${[...parts, html`${text.slice(at)}`]}`
}

function marked(found: Partial<Record<string, string>>, resolve: Resolve): Html {
  const { code, escaped, words, target = '', picture, address, strong, emphasis } = found
  if (code !== undefined) return html`<code>${code.replaceAll('\n', ' ').replace(/^ (.*) $/, '$1')}</code>`
  if (escaped !== undefined) return html`${escaped}`
  if (words !== undefined) return picture ? image(words, resolve(target)) : link(words, target, resolve)
  if (address !== undefined) return html`<a href="${address}" rel="noreferrer">${address}</a>`
  if (strong !== undefined) return html`<strong>${inline(strong, resolve)}</strong>`
  return html`<em>${inline(emphasis ?? '', resolve)}</em>`
}

function link(words: string, target: string, resolve: Resolve): Html {
  const inside = inline(words, resolve)
  const address = resolve(target)
  if (address === undefined) return inside
  return /^https?:/.test(address)
    ? html`<a href="${address}" rel="noreferrer">${inside}</a>`
    : html`<a href="${address}">${inside}</a>`
}

const image = (words: string, address: string | undefined): Html =>
  address === undefined ? html`${words}` : html`<img src="${address}" alt="${words}" loading="lazy">`

/** The text without markup, for titles and for the search. */
export const plain = (text: string): string =>
  text.replaceAll(MARKS, (...all) => {
    const { code, escaped, words, address, strong, emphasis } = all.at(-1) as Partial<Record<string, string>>
    const nested = words ?? strong ?? emphasis
    return code ?? escaped ?? address ?? plain(nested ?? '')
  })
