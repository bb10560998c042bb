/** Types of TypeScript from the JSON Schemas of the OpenAPI document. A keyword that is not known here ends the generation. */

export type JsonSchema = { readonly [keyword: string]: unknown }

/** Keywords that narrow values in ways that types cannot say. */
const BEYOND_TYPES = new Set([
  ...['maxLength', 'minLength', 'pattern', 'format', 'x-form', 'minimum', 'maximum', 'minItems', 'maxItems'],
  ...['uniqueItems', 'description', 'default', 'contentMediaType'],
])
const KNOWN = new Set(['$ref', 'type', 'enum', 'anyOf', 'items', 'properties', 'required', 'additionalProperties'])

export function typeOf(schema: JsonSchema): string {
  const unknown = Object.keys(schema).find((key) => !KNOWN.has(key) && !BEYOND_TYPES.has(key) && key !== 'deprecated')
  if (unknown !== undefined) throw new Error(`no type is known for the keyword ${unknown}`)
  const { $ref, type, enum: values, anyOf, items } = schema
  if (typeof $ref === 'string') return nameOf($ref.replace('#/components/schemas/', ''))
  // Beside properties it says which of them go together, and the description says it to people.
  if (Array.isArray(anyOf) && schema.properties === undefined) return anyOf.map((one) => typeOf(one)).join(' | ')
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ')
  if (type === 'array') return `(${items ? typeOf(items as JsonSchema) : 'unknown'})[]`
  if (type === 'object') return objectType(schema)
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  throw new Error(`no type is known for ${JSON.stringify(schema)}`)
}

/** `Error` is a type of the language already. */
export const nameOf = (title: string): string => (title === 'Error' ? 'ErrorReply' : title)

function objectType({ properties, required = [], additionalProperties }: JsonSchema): string {
  if (properties === undefined) return `Record<string, ${valueType(additionalProperties)}>`
  if (Object.keys(properties as object).length === 0) return 'Record<string, never>'
  const fields = Object.entries(properties as Record<string, JsonSchema>)
  return `{ ${fields.map(([name, of]) => fieldOf(name, of, (required as string[]).includes(name))).join('\n')} }`
}

const valueType = (of: unknown): string =>
  typeof of === 'object' && of !== null ? typeOf(of as JsonSchema) : of === false ? 'never' : 'unknown'

/** With its description, as editors show it. */
export function fieldOf(name: string, of: JsonSchema, isRequired: boolean, more = ''): string {
  const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
  return `${commentOf(of)}${key}${isRequired ? '' : '?'}: ${typeOf(of)}${more};`
}

/** A path such as `/*` in a description must not end the comment. */
export function commentOf({ description, deprecated }: JsonSchema): string {
  if (typeof description !== 'string' && !deprecated) return ''
  const text = [description, deprecated && '@deprecated'].filter(Boolean).join(' ')
  return `\n/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n`
}
