/**
 * The patterns of names, compared with the same rules as plain code: a text that only one of them accepts is a mistake.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, NASTY, nearly } from '../../test/support/fuzz.ts'
import { LIMITS } from './limits.ts'
import * as names from './names.ts'
import type { Schema } from './schema.ts'

type Keywords = { pattern: string; minLength?: number; maxLength?: number }

/** As the API checks it: JSON Schema counts characters, and has patterns with the flag u. */
function accepts(schema: Schema<string>, text: string): boolean {
  const { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema as Keywords
  const length = [...text].length
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(text)
}

const isLower = (c: string) => c >= 'a' && c <= 'z' && c.length === 1
const isLetter = (c: string) => isLower(c) || (c >= 'A' && c <= 'Z' && c.length === 1)
const isDigit = (c: string) => c >= '0' && c <= '9' && c.length === 1
const isHex = (c: string) => isDigit(c) || (c >= 'a' && c <= 'f' && c.length === 1)

/** No character that moves a cursor, ends a line, or is a lone surrogate. */
function isOneLine(text: string): boolean {
  return [...text].every((c) => {
    const code = c.codePointAt(0) as number
    const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f)
    return !isControl && !(code >= 0xd800 && code <= 0xdfff) && code !== 0x2028 && code !== 0x2029
  })
}

function isAccountName(text: string): boolean {
  const all = [...text]
  const [first = '', last = ''] = [all[0], all.at(-1)]
  const isRight = all.every((c) => isLower(c) || isDigit(c) || c === '-')
  return isRight && all.length >= 3 && all.length <= 40 && isLower(first) && last !== '-'
}

function isAppName(text: string): boolean {
  const all = [...text]
  const [first = ''] = all
  const isRight = all.every((c) => isLetter(c) || isDigit(c) || c === '-' || c === '_')
  return isRight && all.length >= 1 && all.length <= LIMITS.appNameLength && (isLetter(first) || isDigit(first))
}

function isId(text: string): boolean {
  const parts = text.split('-')
  if (parts.map((part) => part.length).join() !== '8,4,4,4,12' || ![...parts.join('')].every(isHex)) return false
  return parts[2]?.[0] === '7' && '89ab'.includes(parts[3]?.[0] ?? 'x')
}

const isText = (text: string): boolean => isOneLine(text) && text.trim() !== '' && [...text].length <= LIMITS.textLength

function isVariableKey(text: string): boolean {
  const isRight = [...text].every((c) => isLetter(c) || isDigit(c) || c === '_')
  return isRight && text.length >= 1 && text.length <= LIMITS.variableKeyLength && !isDigit(text[0] ?? '')
}

function isRootDirectory(text: string): boolean {
  const isRelative = text[0] !== '/' && !text.split('/').includes('..')
  return isRelative && isOneLine(text) && !text.includes('\\') && [...text].length <= LIMITS.rootDirectoryLength
}

const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 50 }), fc.constantFrom(...NASTY))
const long = (unit: string, lengths: readonly number[]) =>
  fc.constantFrom(...lengths).map((length) => unit.repeat(length))

const RULES: [name: string, schema: Schema<string>, rule: (text: string) => boolean, nearby: fc.Arbitrary<string>][] = [
  ['account', names.accountName, isAccountName, fc.oneof(nearly('abz09-'), long('a', [2, 3, 39, 40, 41]))],
  ['app', names.appName, isAppName, fc.oneof(nearly('abZ09-_'), long('Z', [1, 39, 40, 41]))],
  ['environment', names.environmentId, isId, fc.oneof(fc.uuid(), fc.uuid({ version: 7 }), nearly('0189abf-', 36))],
  ['display name', names.displayName, isText, fc.oneof(nearly('ab é\u3000\u00a0'), long('😀', [99, 100, 101]))],
  ['CMS', names.cmsEnvironmentName, isText, nearly('ab é')],
  ['variable', names.variableKey, isVariableKey, fc.oneof(nearly('aZ_09'), long('_', [1, 127, 128, 129]))],
  ['root directory', names.rootDirectory, isRootDirectory, fc.oneof(nearly('ab./'), long('a', [1023, 1024, 1025]))],
]

for (const [name, schema, rule, nearby] of RULES) {
  test(`the pattern for the name of ${name} lets in what its rule does, and nothing else`, async () => {
    let accepted = 0
    await holds(
      fc.property(fc.oneof(anyText, nearby, nearby, nearby), (text) => {
        const isAccepted = accepts(schema, text)
        assert.equal(isAccepted, rule(text), JSON.stringify(text))
        if (isAccepted) accepted++
      }),
      500,
    )
    assert.ok(accepted > 0)
  })
}

const account = fc.stringMatching(/^[a-z][a-z0-9-]{1,38}[a-z0-9]$/)
const app = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/)
const id = fc.uuid({ version: 7 })

test('a resource name is read back as what it was made of', async () => {
  await holds(
    fc.property(account, app, id, id, (account, app, environment, own) => {
      const at = { account, app, environment }
      const made = [
        names.operationResource(at, own),
        names.buildResource(at, own),
        names.deploymentResource(at, own),
        names.triggerResource(at, own),
      ]
      for (const name of made) {
        const [, one, , two, , three, , four, ...rest] = name.split('/')
        assert.deepEqual([one, two, three, four, rest], [account, app, environment, own, []])
        assert.equal(encodeURI(name), name, 'it stands in an address as it is')
      }
      assert.equal(new Set(made).size, made.length, 'no two kinds of things have one name')
    }),
    200,
  )
})

test('names of apps fold to one exactly if they differ in case only, and folding twice is folding once', async () => {
  const swapped = (text: string) =>
    [...text].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('')
  await holds(
    fc.property(app, app, (one, other) => {
      assert.equal(names.fold(swapped(one)), names.fold(one))
      assert.equal(names.fold(names.fold(one)), names.fold(one))
      const isSame = one.localeCompare(other, 'en', { sensitivity: 'accent' }) === 0
      assert.equal(names.fold(one) === names.fold(other), isSame, `${one} ${other}`)
    }),
    300,
  )
})
