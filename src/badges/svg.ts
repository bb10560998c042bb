/**
 * The picture: two fields side by side, as badges have them everywhere. It brings its own colours, so it reads the same on a
 * light and on a dark page. It has no script and no style, and draws at the same width whatever fonts a reader has.
 */
import type { resources } from '../contract/index.ts'

/** White text on each of them has a contrast of at least 4.5. */
export const COLOURS: Record<resources.BadgeState | 'label', string> = {
  label: '#474747',
  live: '#2a7a33',
  building: '#1b62b5',
  failing: '#c0271f',
  held: '#8a5a00',
  'never deployed': '#6a6a6a',
}

const MAX_LABEL = 40
const PADDING = 6
const HEIGHT = 20

export function drawBadge(displayName: string, state: resources.BadgeState): string {
  const characters = [...displayName]
  const label = characters.length > MAX_LABEL ? `${characters.slice(0, MAX_LABEL - 1).join('')}…` : displayName
  const [left, right] = [widthOf(label), widthOf(state)]
  const [split, width] = [left + 2 * PADDING, left + right + 4 * PADDING]
  const alt = escaped(`${label}: ${state}`)
  const text = (content: string, x: number, length: number) =>
    `<text x="${x}" y="14" textLength="${length}" lengthAdjust="spacingAndGlyphs">${escaped(content)}</text>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" role="img" aria-label="${alt}">`,
    `<title>${alt}</title>`,
    `<clipPath id="r"><rect width="${width}" height="${HEIGHT}" rx="3"/></clipPath>`,
    '<g clip-path="url(#r)">',
    `<rect width="${split}" height="${HEIGHT}" fill="${COLOURS.label}"/>`,
    `<rect x="${split}" width="${width - split}" height="${HEIGHT}" fill="${COLOURS[state]}"/>`,
    '</g>',
    '<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11" aria-hidden="true">',
    text(label, PADDING, left),
    text(state, split + PADDING, right),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

const NARROW = /[ijlIft.,:;'|!()[\] ]/
const WIDE = /[mwMW@%]/

/** About as wide as Verdana at 11 pixels; the text is then drawn at exactly this width. */
const widthOf = (text: string): number =>
  Math.max(10, Math.round([...text].reduce((sum, one) => sum + widthOfOne(one), 0)))

function widthOfOne(character: string): number {
  // Letters of East Asia, and emoji.
  if ((character.codePointAt(0) ?? 0) >= 0x1100) return 11.5
  if (NARROW.test(character)) return 4.2
  if (WIDE.test(character)) return 10.4
  return /[A-Z]/.test(character) ? 7.7 : 6.8
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** XML has no control characters and no halves of surrogate pairs, not even escaped. */
const escaped = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
