import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { names, Problem, resources, schema } from '../../contract/index.ts'
import { createCheck } from './index.ts'
import { KEYWORDS } from './words.ts'

/** Keywords that refuse nothing by themselves, or only contain others. */
const SILENT = [
  'properties',
  'items',
  'anyOf',
  'title',
  'description',
  'deprecated',
  'format',
  'examples',
  'optional',
  'x-form',
  'default',
  'contentMediaType',
]

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

function* schemasIn(value: unknown, at: string): Generator<[string, Json]> {
  if (!isObject(value)) return
  yield [at, value]
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'properties' && isObject(inner))
      for (const [name, part] of Object.entries(inner)) yield* schemasIn(part, `${at}.${name}`)
    if (key === 'items' || key === 'additionalProperties') yield* schemasIn(inner, `${at}/${key}`)
    if (Array.isArray(inner) && key === 'anyOf') for (const part of inner) yield* schemasIn(part, at)
  }
}

const isSchema = (value: unknown): boolean => isObject(value) && typeof value.type === 'string'
const ALL = Object.entries({ ...resources, ...names })
  .filter(([, value]) => isSchema(value))
  .flatMap(([name, value]) => [...schemasIn(value, name)])

test('every keyword of every schema has words, and every pattern says what it wants', async () => {
  assert.ok(ALL.length > 300)
  for (const [at, found] of ALL) {
    for (const keyword of Object.keys(found)) assert.ok([...KEYWORDS, ...SILENT].includes(keyword), `${at}: ${keyword}`)
    if (found.pattern) assert.match(String(found['x-form']), /^must (be|have) /, `${at} has a pattern without words`)
  }
  // Routes write schemas of their own for queries.
  const folder = new URL('../routes/', import.meta.url)
  const isSource = (name: string) => name.endsWith('.ts') && !name.includes('.test.')
  for (const file of (await readdir(folder, { recursive: true })).filter(isSource)) {
    const text = await readFile(new URL(file, folder), 'utf8')
    assert.equal(text.match(/\bpattern:/g)?.length, text.match(/'x-form':/g)?.length, file)
  }
})

function faultOf(of: schema.Schema, value: unknown, part: 'body' | 'query' = 'body'): string {
  const answer = createCheck(schema.object({ field: of }), part)({ field: value })
  assert.ok('error' in answer && answer.error instanceof Problem, `${JSON.stringify(value)} was taken`)
  return answer.error.message
}

test('an error is described in words that follow the name of the field', () => {
  const inner = schema.object({ key: names.variableKey })
  const rows: [schema.Schema, unknown, string][] = [
    [names.displayName, '', 'field must not be empty.'],
    [names.displayName, '  ', 'field must be one line of text that is not blank.'],
    [names.displayName, 'x'.repeat(101), 'field must have at most 100 characters.'],
    [names.displayName, 7, 'field must be text.'],
    [names.appName, '', 'field must not be empty.'],
    [
      names.appName,
      '-',
      'field must have 1 to 40 letters, digits, hyphens and underscores, and begin with a letter or digit.',
    ],
    [schema.string({ minLength: 12 }), 'short', 'field must have at least 12 characters.'],
    [schema.string({ maxLength: 1 }), 'ab', 'field must have at most 1 character.'],
    [schema.integer({ minimum: 0, maximum: 3600 }), -1, 'field must be from 0 to 3,600.'],
    [schema.integer({ minimum: 0, maximum: 3600 }), 4000, 'field must be from 0 to 3,600.'],
    [schema.integer({ minimum: 1 }), 0, 'field must be at least 1.'],
    [schema.number({ maximum: 1 }), 2, 'field must be at most 1.'],
    [schema.integer(), 1.5, 'field must be a whole number.'],
    [schema.number(), 'x', 'field must be a number.'],
    [schema.boolean(), 'yes', 'field must be true or false.'],
    [schema.array(schema.string()), {}, 'field must be a list.'],
    [schema.array(schema.string(), { maxItems: 2 }), ['a', 'b', 'c'], 'field must have at most 2 entries.'],
    [schema.array(schema.string(), { minItems: 1 }), [], 'field must not be empty.'],
    [schema.mapOf(schema.integer(), { maxProperties: 1 }), { a: 1, b: 2 }, 'field must have at most 1 entry.'],
    [schema.oneOf(['SECRET', 'PLAIN']), 'x', 'field must be one of: SECRET, PLAIN.'],
    [schema.oneOf(['SECRET', 'PLAIN']), 7, 'field must be one of: SECRET, PLAIN.'],
    [schema.oneOf(['uploadable']), 'main', 'field must be uploadable.'],
    [inner, 'x', 'field must be an object.'],
    [inner, {}, 'field.key is required.'],
    [inner, { key: 'A', more: 1 }, 'field.more is not a known field.'],
    [
      schema.array(inner),
      [{ key: 'A' }, { key: '1' }],
      'field[1].key must have 1 to 128 letters, digits and underscores, and must not begin with a digit.',
    ],
    [schema.string({ pattern: '^a$' }), 'b', 'field has a wrong form.'],
    [schema.string({ pattern: '^a$', description: 'The letter a.' }), 'b', 'field has a wrong form: The letter a.'],
  ]
  for (const [of, value, words] of rows) assert.equal(faultOf(of, value), words)
  assert.equal(faultOf(schema.integer(), 'x', 'query'), 'field must be a whole number.')
})

test('every body that a caller can send wrong is refused without a word of the validator', () => {
  for (const [at, found] of ALL.filter(([, { type }]) => type === 'object')) {
    const check = createCheck(found as schema.ObjectSchema, 'body')
    const { properties = {} } = found as { properties?: Json }
    for (const value of ['', 7, null, [], {}, true, '\u0000', 'x'.repeat(100_000), -1e9]) {
      const answer = check(Object.fromEntries(Object.keys(properties).map((name) => [name, value])))
      if (!('error' in answer)) continue
      assert.doesNotMatch(
        answer.error.message,
        /must NOT|must match|fewer|must be (?:string|integer|array|object)\b|\^/,
        at,
      )
    }
  }
})

test('names that a caller made up are short and harmless in the answer', () => {
  const hostile = ['\u001b[31mred', 'line\nbreak', '\u202etxt.exe', 'x'.repeat(10_000), '\ud800', '__proto__', 'a"b<c>']
  const body = JSON.parse(`{${hostile.map((name) => `${JSON.stringify(name)}:1`).join(',')}}`)
  const answer = createCheck(schema.object({ map: schema.optional(schema.object({})) }), 'body')(body)
  assert.ok('error' in answer)
  assert.equal(answer.error.fields.length, hostile.length)
  assert.ok(answer.error.message.length < 1000)
  assert.doesNotMatch(answer.error.message, /[\p{C}\p{Zl}\p{Zp}]/u)
  const nested = createCheck(
    schema.object({ map: schema.object({}) }),
    'body',
  )({ map: { ['\u001b]0;title\u0007'.repeat(20)]: 1 } })
  assert.ok('error' in nested)
  assert.doesNotMatch(nested.error.message, /\p{C}/u)
  assert.ok(nested.error.message.length < 200)
})

test('a value is never repeated in the answer', () => {
  const secret = `hunter2${'x'.repeat(200_000)}`
  for (const of of [
    names.displayName,
    names.appName,
    schema.integer(),
    schema.oneOf(['a']),
    schema.array(schema.string()),
  ])
    assert.doesNotMatch(faultOf(of, secret), /hunter2/)
})
