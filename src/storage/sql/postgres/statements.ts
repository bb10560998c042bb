/**
 * Statements as PostgreSQL takes them: `$1` for the first value. One that is used again is prepared under a name, so that it
 * is parsed once in each session. Names are bounded, since a session keeps every statement that has one.
 */
import type { CustomTypesConfig } from 'pg'
import type { Statement, Value } from '../sql.ts'

const MAX_NAMES = 1000
/** Longer ones are lists of a varying length, each of which is another text. */
const MAX_NAMED_VALUES = 64

export type Rendered = { text: string; name?: string; values: Value[] }

type Known = { text: string; uses: number; name: string | undefined }

export function createStatements() {
  /** The texts of one call site are always the same array; those of lists are not. */
  const byArray = new WeakMap<readonly string[], Known>()
  const byText = new Map<string, Known>()
  let names = 0

  function know(texts: readonly string[]): Known {
    const text = texts.reduce((before, after, at) => `${before}$${at}${after}`)
    const known = byText.get(text) ?? { text, uses: 0, name: undefined }
    if (byText.size < MAX_NAMES && texts.length <= MAX_NAMED_VALUES) byText.set(text, known)
    byArray.set(texts, known)
    return known
  }

  return function render({ texts, values }: Statement): Rendered {
    const known = byArray.get(texts) ?? know(texts)
    known.uses += 1
    if (known.uses === 2 && byText.get(known.text) === known) known.name = `headland_${++names}`
    const rendered = { text: known.text, values: values.map(withoutNul) }
    return known.name === undefined ? rendered : { ...rendered, name: known.name }
  }
}

/** PostgreSQL has no texts with U+0000. None is stored, so in a comparison it is as different as it was. */
const withoutNul = (value: Value): Value =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value

/** Types of PostgreSQL by their number in its catalogue. Counts are BIGINT, sums of BIGINT are NUMERIC. */
const NUMBERS = new Set([20, 21, 23, 700, 701, 1700])
const BOOLEAN = 16

/** Every column is a number, a text or null; a condition is 1 or 0, as in SQLite. */
export const TYPES: CustomTypesConfig = {
  getTypeParser: ((type: number) => {
    if (NUMBERS.has(type)) return Number
    return type === BOOLEAN ? toNumber : toText
  }) as CustomTypesConfig['getTypeParser'],
}

const toNumber = (text: string): number => (text === 't' ? 1 : 0)
const toText = (text: string): string => text
