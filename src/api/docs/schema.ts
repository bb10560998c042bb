/** A schema of the OpenAPI document as HTML: its type in words, and its fields as a nested list. */
import { type Html, html } from './html.ts'

/** The keywords of JSON Schema that our documents use. */
export type Shape = {
  $ref?: string
  type?: string
  description?: string
  deprecated?: boolean
  properties?: Record<string, Shape>
  required?: readonly string[]
  additionalProperties?: boolean | Shape
  items?: Shape
  anyOf?: readonly Shape[]
  enum?: readonly unknown[]
  examples?: readonly unknown[]
  pattern?: string
  format?: string
  contentMediaType?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
}

export type Components = Record<string, Shape>

const REF = '#/components/schemas/'

/** The schema that a reference points to, and the name of the component if it is one. */
export function resolve(shape: Shape, components: Components): { name?: string; shape: Shape } {
  const name = shape.$ref?.slice(REF.length)
  return name === undefined ? { shape } : { name, shape: components[name] ?? {} }
}

/** Descriptions mark code with backticks, as Markdown does, and have no other markup. */
export const prose = (text = ''): Html =>
  html`${text.split('`').map((part, index) => (index % 2 ? html`<code>${part}</code>` : html`${part}`))}`

export const need = (isRequired = false): Html =>
  isRequired ? html`<span class="need">required</span>` : html`<span class="need optional">optional</span>`

export function typeInWords(shape: Shape): Html {
  const name = shape.$ref?.slice(REF.length)
  if (name !== undefined) return html`<a href="#schema-${name}">${name}</a>`
  if (shape.enum) return oneOf(shape.enum)
  if (shape.anyOf) return html`${shape.anyOf.map((one, index) => html`${index > 0 ? ' or ' : ''}${typeInWords(one)}`)}`
  const limits = limitsInWords(shape)
  const after = limits ? `, ${limits}` : ''
  if (shape.type === 'array') return html`list of ${typeInWords(shape.items ?? {})}${after}`
  if (shape.format === 'date-time') return html`time as in RFC 3339`
  if (shape.contentMediaType) return html`file of type ${shape.contentMediaType}`
  if (shape.type === 'object' && Object.keys(shape.properties ?? {}).length === 0) {
    return shape.additionalProperties === false ? html`empty object` : html`any object`
  }
  return html`${shape.type ?? 'any'}${after}${shape.pattern && patternOf(shape.pattern)}`
}

const oneOf = (values: readonly unknown[]): Html => {
  const codes = values.map((value, index) => html`${index > 0 ? ', ' : ''}<code>${String(value)}</code>`)
  return codes.length === 1 ? html`always ${codes}` : html`one of ${codes}`
}

/** The description says it in words; authors of clients need the exact pattern too. */
const patternOf = (pattern: string): Html =>
  html`<details class="pattern"><summary>pattern</summary><code>${pattern}</code></details>`

function limitsInWords({ minLength, maxLength, minimum, maximum, maxItems }: Shape): string {
  return [between(minLength, maxLength, ' characters'), between(minimum, maximum, ''), between(undefined, maxItems, '')]
    .filter((words) => words !== '')
    .join(', ')
}

function between(min: number | undefined, max: number | undefined, unit: string): string {
  const number = (value: number) => value.toLocaleString('en')
  if (min !== undefined && max !== undefined) return `${number(min)} to ${number(max)}${unit}`
  if (max !== undefined) return `at most ${number(max)}${unit}`
  return min === undefined ? '' : `at least ${number(min)}${unit}`
}

/** Senders of an object must know which fields it needs; receivers, which ones may be missing. */
export type Direction = 'sent' | 'received'

/** The fields of an object as a nested list. Those of a component inside another can be unfolded. */
export function fieldList(of: Shape, components: Components, as: Direction, within: readonly string[] = []): Html {
  const { name, shape } = resolve(of, components)
  const trail = name === undefined ? within : [...within, name]
  const fields = Object.entries(shape.properties ?? {})
  if (fields.length === 0) return html`<p class="quiet">${typeInWords(shape)}</p>`
  return html`<ul class="fields">${fields.map(([field, part]) => {
    const isRequired = shape.required?.includes(field)
    return html`<li><code class="name">${field}</code> ${as === 'sent' || !isRequired ? need(isRequired) : undefined}${part.deprecated ? html` <span class="need optional">deprecated</span>` : undefined}
<span class="type">${typeInWords(part)}</span>
${part.description ? html`<p>${prose(part.description)}</p>` : undefined}${nested(part, components, as, trail)}</li>`
  })}</ul>`
}

function nested(part: Shape, components: Components, as: Direction, trail: readonly string[]): Html | undefined {
  const inner = part.items ?? part.anyOf?.[0] ?? part
  const { name, shape } = resolve(inner, components)
  if (Object.keys(shape.properties ?? {}).length === 0 || (name !== undefined && trail.includes(name))) return undefined
  const fields = fieldList(inner, components, as, trail)
  return name === undefined ? fields : html`<details><summary>Fields of ${name}</summary>${fields}</details>`
}
