/**
 * Checks requests against the contract's schemas. Nothing is coerced in a body; query parameters, which are always
 * text, are read as the type they should have. The error names every wrong top-level field, with its first violation,
 * so it is bounded however large the input is.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type FieldViolation, Problem, type schema } from '../../contract/index.ts'
import { REQUIRED, shown, UNKNOWN, violationOf } from './words.ts'

const options = { strict: false, validateFormats: false, allErrors: false, verbose: true } as const
const exact = lazily(() => new Ajv2020(options))
const fromText = lazily(() => new Ajv2020({ ...options, coerceTypes: true }))

const UNKNOWN_FIELDS_NAMED = 10

/** AIP-159: `-` reads across collections, where a method allows it. */
const NO_WILDCARD =
  'must be a name: `-` stands for all apps in GET /v1/accounts/{account}/apps/-/environments, and nowhere else'

export type Check = (data: unknown) => { value: unknown } | { error: Problem }

export function createCheck(of: schema.ObjectSchema, part: 'body' | 'query' | 'path', emptyIfAbsent = false): Check {
  const ajv = part === 'body' ? exact : fromText
  const whole = lazily(() => ajv().compile(of))
  const parts = lazily(() =>
    Object.entries(of.properties).map(([field, part]) => [field, ajv().compile(part)] as const),
  )

  return (given) => {
    const data = given ?? (emptyIfAbsent ? {} : undefined)
    if (data !== undefined && whole()(data)) return { value: data }
    const found = violations(data, of, parts(), part)
    // Every field is valid on its own; the combination is not.
    return { error: toProblem(found.length > 0 ? found : [toCombination(part, whole().errors?.[0])]) }
  }
}

function violations(
  data: unknown,
  { required }: schema.ObjectSchema,
  properties: (readonly [string, ValidateFunction])[],
  part: string,
): FieldViolation[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return [{ field: part, description: data === undefined ? 'a JSON object is required' : 'must be a JSON object' }]
  }
  const given = data as Record<string, unknown>
  const found: FieldViolation[] = []
  for (const field of required) {
    if (!Object.hasOwn(given, field)) found.push({ field, description: REQUIRED })
  }
  for (const [field, validate] of properties) {
    if (!Object.hasOwn(given, field) || validate(given[field])) continue
    const isWildcard = part === 'path' && given[field] === '-'
    found.push(isWildcard ? { field, description: NO_WILDCARD } : violationOf(field, validate.errors?.[0]))
  }
  const known = new Set(properties.map(([field]) => field))
  const unknown = Object.keys(given).filter((field) => !known.has(field))
  for (const field of unknown.slice(0, UNKNOWN_FIELDS_NAMED)) {
    found.push({ field: shown(field), description: UNKNOWN })
  }
  return found
}

function toCombination(part: string, error: ErrorObject | undefined): FieldViolation {
  const missing = error?.keyword === 'required' ? error.params.missingProperty : undefined
  return missing === undefined ? violationOf(part, error) : { field: missing, description: REQUIRED }
}

function toProblem(fields: FieldViolation[]): Problem {
  const message = fields.map(({ field, description }) => `${field} ${description}`).join('; ')
  return new Problem('FIELD_INVALID', message.endsWith('.') ? message : `${message}.`, { fields })
}

/** Compiling costs a millisecond or two a schema, and an instance of Ajv some more; most are never needed in one run. */
function lazily<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
