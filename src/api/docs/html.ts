/**
 * HTML that values cannot change: every value in the template is escaped, in text and in quoted attributes alike,
 * unless this tag made it.
 */

const made: unique symbol = Symbol('html')

export type Html = { readonly [made]: true; readonly text: string }

type Part = string | number | Html | readonly Html[] | undefined

/** html`<p>${text}</p>`. Nothing stands for undefined; a list is its items one after another. */
export function html(texts: TemplateStringsArray, ...parts: Part[]): Html {
  return { [made]: true, text: texts.reduce((whole, text, index) => whole + render(parts[index - 1]) + text) }
}

function render(part: Part): string {
  if (part === undefined) return ''
  if (typeof part === 'object') return 'text' in part ? part.text : part.map(({ text }) => text).join('')
  return escaped(String(part))
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
