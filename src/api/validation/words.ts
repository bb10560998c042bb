/**
 * What is wrong with a field, in words that follow its name: "displayName must not be empty". The validator's own texts
 * name keywords and patterns of the schema, which mean nothing to a person who fills in a form. A test checks that
 * every keyword in the schemas of requests has words here.
 */
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { FieldViolation } from '../../contract/index.ts'

const TYPES: Readonly<Record<string, string>> = {
  string: 'must be text',
  integer: 'must be a whole number',
  number: 'must be a number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
}

type Parent = { enum?: readonly unknown[]; minimum?: number; maximum?: number; description?: string; 'x-form'?: string }

/** The words for each keyword, from its parameters and the schema that it belongs to. */
const WORDS: Readonly<Record<string, (error: ErrorObject, parent: Parent) => string>> = {
  // For an enum, its values say more than its type.
  type: ({ params }, parent) => (parent.enum ? choice(parent.enum) : (TYPES[String(params.type)] ?? NOT_VALID)),
  enum: ({ params }) => choice(params.allowedValues),
  minLength: ({ params }) => (params.limit === 1 ? EMPTY : `must have at least ${counted(params.limit, 'character')}`),
  maxLength: ({ params }) => `must have at most ${counted(params.limit, 'character')}`,
  pattern: ({ data }, parent) => (data === '' ? EMPTY : (parent['x-form'] ?? formOf(parent))),
  minimum: (_, parent) => range(parent),
  maximum: (_, parent) => range(parent),
  minItems: ({ params }) => (params.limit === 1 ? EMPTY : `must have at least ${counted(params.limit, 'entry')}`),
  maxItems: ({ params }) => `must have at most ${counted(params.limit, 'entry')}`,
  uniqueItems: () => 'must not have an entry twice',
  maxProperties: ({ params }) => `must have at most ${counted(params.limit, 'entry')}`,
  propertyNames: () => 'has an entry with a name that is not allowed',
}

const EMPTY = 'must not be empty'
const NOT_VALID = 'is not valid'

export const REQUIRED = 'is required'
export const UNKNOWN = 'is not a known field'
/**
 * The keywords that have words. `required` and `additionalProperties` are not among them: they are about another field
 * than the one where they are declared.
 */
export const KEYWORDS: readonly string[] = [...Object.keys(WORDS), 'required', 'additionalProperties']

/** The field that a validation error is about, and what is wrong with it. `field` is the one that was checked. */
export function violationOf(field: string, error: ErrorObject | undefined): FieldViolation {
  if (!error) return { field, description: NOT_VALID }
  const at = `${field}${inside(error.instancePath)}`
  if (error.keyword === 'required') return { field: `${at}.${error.params.missingProperty}`, description: REQUIRED }
  if (error.keyword === 'additionalProperties')
    return { field: `${at}.${shown(error.params.additionalProperty)}`, description: UNKNOWN }
  return { field: at, description: WORDS[error.keyword]?.(error, (error.parentSchema ?? {}) as Parent) ?? NOT_VALID }
}

const MAX_NAME_LENGTH = 60

/**
 * A name that a caller chose, made safe for an answer: short, on one line, and without control characters for
 * terminals.
 */
export function shown(name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name
  return short.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}

/** `/0/key` as `[0].key`. */
const inside = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => shown(step.replaceAll('~1', '/').replaceAll('~0', '~')))
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('')

const choice = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${values[0]}` : `must be one of: ${values.join(', ')}`

const formOf = ({ description }: Parent): string =>
  description ? `has a wrong form: ${description}` : 'has a wrong form'

function range({ minimum, maximum }: Parent): string {
  if (minimum === undefined) return `must be at most ${number(maximum ?? 0)}`
  return maximum === undefined
    ? `must be at least ${number(minimum)}`
    : `must be from ${number(minimum)} to ${number(maximum)}`
}

const number = (value: number): string => value.toLocaleString('en')

const counted = (count: number, word: 'character' | 'entry'): string =>
  `${number(count)} ${count === 1 ? word : { character: 'characters', entry: 'entries' }[word]}`
