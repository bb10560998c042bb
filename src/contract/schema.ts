/**
 * A small typed way to write JSON Schema.
 *
 * Every schema here is plain JSON Schema (2020-12), so the same value validates a request, serializes a reply and is part
 * of the OpenAPI document; its TypeScript type costs nothing at run time. A schema with a `title` becomes a named component
 * of the OpenAPI document. `x-form` describes a `pattern` in words that follow the name of the field: "must be …".
 */

declare const accepted: unique symbol

type Keywords = Readonly<Record<string, unknown>>

export type Schema<T = unknown> = Keywords & { readonly [accepted]?: T }

/** The TypeScript type of the values that a schema accepts. */
export type Static<S> = S extends { readonly [accepted]?: infer T } ? T : never

type Optional<T> = Schema<T> & { readonly optional: true }

type Properties = Readonly<Record<string, Schema>>
type OptionalKeys<P extends Properties> = { [K in keyof P]: P[K] extends { optional: true } ? K : never }[keyof P]
type Flat<T> = { [K in keyof T]: T[K] }
type ObjectOf<P extends Properties> = Flat<
  { [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & { [K in OptionalKeys<P>]?: Static<P[K]> }
>

export type ObjectSchema<T = unknown> = Schema<T> & {
  readonly type: 'object'
  readonly properties: Properties
  readonly required: readonly string[]
}

export const string = (keywords: Keywords = {}): Schema<string> => ({ type: 'string', ...keywords })
export const integer = (keywords: Keywords = {}): Schema<number> => ({ type: 'integer', ...keywords })
export const number = (keywords: Keywords = {}): Schema<number> => ({ type: 'number', ...keywords })
export const boolean = (keywords: Keywords = {}): Schema<boolean> => ({ type: 'boolean', ...keywords })
export const time = (description: string): Schema<string> => string({ format: 'date-time', description })

export function oneOf<const V extends string>(values: readonly V[], keywords: Keywords = {}): Schema<V> {
  return { type: 'string', enum: values, ...keywords }
}

export function array<S extends Schema>(items: S, keywords: Keywords = {}): Schema<Static<S>[]> {
  return { type: 'array', items, ...keywords }
}

/** An object with any keys, and values of one kind. */
export function mapOf<S extends Schema>(values: S, keywords: Keywords = {}): Schema<Record<string, Static<S>>> {
  return { type: 'object', additionalProperties: values, ...keywords }
}

/** Any JSON object, whose content is described elsewhere in words. */
export const anyObject = (keywords: Keywords = {}): Schema<Record<string, unknown>> => ({
  type: 'object',
  additionalProperties: true,
  ...keywords,
})

export function optional<T>(schema: Schema<T>): Optional<T> {
  return { ...schema, optional: true }
}

/** What the schema accepts, or null. */
export function nullable<T>(schema: Schema<T>, keywords: Keywords = {}): Schema<T | null> {
  return { anyOf: [schema, { type: 'null' }], ...keywords }
}

/** An object with exactly these properties: an unknown one is an error, one not wrapped in `optional` is required. */
export function object<P extends Properties>(properties: P, keywords: Keywords = {}): ObjectSchema<ObjectOf<P>> {
  const required = Object.keys(properties).filter((key) => !properties[key]?.optional)
  const bare = Object.entries(properties).map(([key, { optional: _, ...schema }]) => [key, schema])
  return { type: 'object', properties: Object.fromEntries(bare), required, additionalProperties: false, ...keywords }
}

/** The same object without some of its properties. */
export function without<T, K extends keyof T & string>(
  { properties, required, ...keywords }: ObjectSchema<T>,
  ...left: K[]
): ObjectSchema<Omit<T, K>> {
  const isKept = (key: string) => !(left as readonly string[]).includes(key)
  const kept = Object.entries(properties).filter(([key]) => isKept(key))
  return { ...keywords, type: 'object', properties: Object.fromEntries(kept), required: required.filter(isKept) }
}
