/** The generated files are those of the API as it is now, and their types those of its schemas. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { generatedFiles } from '../../../scripts/client/files.ts'
import { typeOf } from '../../../scripts/client/schema-types.ts'
import type { resources as contract } from '../../contract/index.ts'
import type * as client from '../public.ts'

test('the files are what scripts/client.ts makes of the current API', async () => {
  const files = generatedFiles()
  assert.equal(files.length, 2)
  for (const { file, text } of files) {
    assert.ok((await readFile(file, 'utf8')) === text, `${file} is of another API: run 'node scripts/client.ts'`)
  }
})

/** Where a schema says what the values of a map are, the generated type knows it and that of the contract does not. */
type Fits<A, B> = [A] extends [B] ? true : false

test('what the client gives fits the types that the service renders with', () => {
  // The type check fails where one does not.
  const same: [
    Fits<client.App, contract.App>,
    Fits<client.Environment, contract.Environment>,
    Fits<client.Build, contract.Build>,
    Fits<client.Deployment, contract.Deployment>,
    Fits<client.Operation, contract.Operation>,
    Fits<client.Trace, contract.Trace>,
    Fits<client.RequestRecord, contract.RequestRecord>,
    Fits<client.Build, contract.Deployment>,
  ] = [true, true, true, true, true, true, true, false]
  assert.equal(same.length, 8)
})

test('a keyword of a schema that the generator does not know ends it', () => {
  assert.throws(() => typeOf({ type: 'string', contains: {} }), /no type is known for the keyword contains/)
  assert.throws(() => typeOf({ type: 'function' }), /no type is known for/)
})

test('an object is what its schema says: optional fields, maps, null, and no keys at all', () => {
  const types: [object, string][] = [
    [
      { type: 'object', properties: { a: { type: 'integer' }, 'b-c': { type: 'boolean' } }, required: ['a'] },
      '{ a: number;\n"b-c"?: boolean; }',
    ],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'Record<string, string>'],
    [{ type: 'object', properties: {}, additionalProperties: false }, 'Record<string, never>'],
    [{ anyOf: [{ $ref: '#/components/schemas/App' }, { type: 'null' }] }, 'App | null'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'],
  ]
  for (const [schema, expected] of types) assert.equal(typeOf(schema as Record<string, unknown>), expected)
})
