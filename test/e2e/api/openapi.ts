/** The documents that people and programs read agree with the code: OpenAPI, `/docs`, and `docs/reference/`. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type AttemptLimit, LOG_IN_LIMITS } from '../../../src/accounts/attempts.ts'
import { KNOWN_NETWORKS } from '../../../src/accounts/known-networks.ts'
import { PASSWORD_QUEUE } from '../../../src/accounts/password-queue.ts'
import { flagName, variableName } from '../../../src/config.ts'
import { LIMITS, PROBLEMS, type Reason } from '../../../src/contract/index.ts'
import { SETTINGS } from '../../../src/settings.ts'
import { service } from './service.ts'

const TOP = new URL('../../../', import.meta.url)

type Operation = {
  operationId: string
  tags: string[]
  summary: string
  'x-access': string
  'x-reasons': string[]
  security: object[]
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>
}
type Document = {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

const answer = await service.call('/openapi.json')
const document: Document = answer.json
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
)

test('the document is served as JSON and names the address of the request', () => {
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual(document.servers, [{ url: service.api }])
})

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(answer.text))
  assert.ok(valid, JSON.stringify(errors, null, 2))
  assert.match(document.openapi, /^3\.1\./)
})

test('every route that is written in src/api/routes/ is in the document, and no other', async () => {
  const folder = new URL('src/api/routes/', TOP)
  const written: string[] = []
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue
    written.push(...routesIn(name, await readFile(new URL(name, folder), 'utf8')))
  }
  assert.deepEqual(operations.map(({ method, path }) => `${method} ${path}`).sort(), written.sort())
})

/** The routes of a source: each is a call of `route(…)` whose first two fields are its method and its path. */
function routesIn(name: string, text: string): string[] {
  const constants = new Map(
    [...text.matchAll(/^const ([A-Z_]+) = '([^']+)'$/gm)].map(([, key = '', value = '']) => [key, value]),
  )
  const found = [...text.matchAll(/\broute\(\{\s*method: '([A-Z]+)',\s*path: ([^\n]+),\n/g)].map(
    ([, method, path = '']) => {
      const literal = constants.get(path) ?? path.slice(1, -1)
      return `${method} ${literal.replaceAll(/\$\{(\w+)\}/g, (_, key) => constants.get(key) ?? assert.fail(`${name}: ${key}?`))}`
    },
  )
  assert.equal(found.length, text.split(/\broute\(\{/).length - 1, `${name} has a route that this test cannot read`)
  return found
}

for (const { method, path } of operations) {
  test(`${method} ${path} is served`, async () => {
    const { reason } = await service.call(path.replaceAll(/\{\w+\}/g, 'some'), { method })
    assert.notEqual(reason, 'ROUTE_NOT_FOUND')
    assert.notEqual(reason, 'METHOD_NOT_ALLOWED')
  })
}

test('every operation has an id of its own, a summary and one tag', () => {
  const ids = operations.map(({ operationId }) => operationId)
  assert.equal(new Set(ids).size, ids.length)
  for (const { operationId, summary, tags } of operations) {
    assert.match(operationId, /^[a-z][A-Za-z0-9]+$/)
    assert.match(summary, /^[A-Z].*[^.]$/, operationId)
    assert.equal(tags.length, 1, operationId)
  }
})

test('every path parameter is described by a pattern, and every operation names the roles that may call it', () => {
  const accesses = ['public', 'known', 'session', 'operator', 'viewer', 'developer', 'owner']
  for (const { operationId, path, parameters, security, 'x-access': access } of operations) {
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name }) => name),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    )
    for (const { name, required, schema } of inPath) {
      assert.ok(required && ('pattern' in schema || 'enum' in schema), `${operationId}: ${name} has no pattern`)
    }
    assert.ok(accesses.includes(access), `${operationId} is open to: ${access}`)
    assert.equal(security.length === 0, access === 'public', operationId)
  }
})

test('every reason that a route names is a known one, and its status is among the responses', () => {
  for (const { operationId, responses, 'x-reasons': reasons } of operations) {
    assert.equal(new Set(reasons).size, reasons.length, `${operationId} names a reason twice`)
    for (const reason of reasons) {
      assert.ok(Object.hasOwn(PROBLEMS, reason), `${operationId} names ${reason}, which is unknown`)
      const { http } = PROBLEMS[reason as Reason]
      assert.ok(
        responses[http]?.description.includes(`\`${reason}\``),
        `${operationId}: ${http} does not name ${reason}`,
      )
    }
    const statuses = Object.keys(responses).filter((status) => status !== '200')
    assert.deepEqual(
      statuses.map(Number),
      [...new Set(reasons.map((reason) => PROBLEMS[reason as Reason].http))].sort(),
    )
  }
})

test('every schema of the document is one that a validator can use', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'openapi')
  for (const name of Object.keys(document.components.schemas)) {
    assert.equal(typeof ajv.compile({ $ref: `openapi#/components/schemas/${name}` }), 'function')
  }
})

test('the schema of the document itself matches it', () => {
  const schema = document.paths['/openapi.json']?.get?.responses[200]?.content?.['application/json']?.schema
  const ajv = new Ajv2020({ strict: false })
  assert.ok(schema && ajv.validate(schema, document), ajv.errorsText())
})

test('/docs is a page with every path of the document in it, and without a script', async () => {
  const page = await service.call('/docs')
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(page.text, /^<!doctype html>/i)
  assert.doesNotMatch(page.text, /<script/i)
  const visible = page.text.replaceAll(/<[^>]*>/g, '')
  for (const path of Object.keys(document.paths)) assert.ok(visible.includes(path), `${path} is not on the page`)
})

/** The rows of the table in a Markdown file whose heading begins with this, as cells. */
async function tableIn(file: string, firstHeading: string): Promise<string[][]> {
  const lines = (await readFile(new URL(`docs/reference/${file}`, TOP), 'utf8')).split('\n')
  const heading = lines.findIndex((line) => line.startsWith(`| ${firstHeading} |`))
  assert.ok(heading >= 0, `${file} has no table of: ${firstHeading}`)
  const rows = lines.slice(heading + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

test('docs/reference/errors.md has every reason, row by row as the code has it', async () => {
  const expected = Object.entries(PROBLEMS).map(([reason, { http, status, fault, retryable, meaning, todo }]) => [
    `\`${reason}\``,
    String(http),
    `\`${status}\``,
    fault,
    retryable ? 'yes' : 'no',
    meaning,
    todo,
  ])
  assert.deepEqual(await tableIn('errors.md', 'reason'), expected)
})

test('docs/reference/errors.md has every reason that a route can answer', async () => {
  const rows = new Set((await tableIn('errors.md', 'reason')).map(([reason]) => reason))
  for (const { operationId, 'x-reasons': reasons } of operations) {
    for (const reason of reasons) assert.ok(rows.has(`\`${reason}\``), `${reason} of ${operationId} is not explained`)
  }
})

test('docs/reference/limits.md has every limit with the value that the code has', async () => {
  const rows = await tableIn('limits.md', 'limit')
  assert.deepEqual(
    rows.map(([name, value = '']) => [name, Number(value.replaceAll(',', ''))]),
    Object.entries(LIMITS).map(([name, value]) => [`\`${name}\``, value]),
  )
  for (const [name, , meaning = '', beyond = ''] of rows) {
    assert.match(meaning, /^(Bytes|Characters|Days|Items|Minutes|Seconds|Shell variables) /, name)
    for (const [, reason = ''] of beyond.matchAll(/`([A-Z_]+)`/g)) {
      assert.ok(Object.hasOwn(PROBLEMS, reason), `${name}: unknown reason ${reason}`)
    }
  }
})

test('docs/reference/limits.md has the limits of log-ins as the code has them', async () => {
  const text = (await readFile(new URL('docs/reference/limits.md', TOP), 'utf8')).replaceAll('\n', ' ')
  const { guesses, network, user } = LOG_IN_LIMITS
  const rule = ({ burst, intervalMs }: AttemptLimit) =>
    `${burst} at once and then one every ${intervalMs / 1000} seconds`
  assert.ok(text.includes(`for one user from one network ${rule(guesses)}; from one network ${rule(network)}`))
  assert.ok(text.includes(`has not logged in before ${rule(user)}`))
  const { places, placesOfClient } = PASSWORD_QUEUE
  assert.ok(text.includes(`${places.unknown} passwords wait to be checked, ${placesOfClient} of one network`))
  assert.ok(text.includes(`${places.known} more`))
  assert.ok(text.includes(`the last ${KNOWN_NETWORKS.perUser} networks of a user`))
})

/** Defaults that depend on the machine are described in words. */
const DEFAULTS_IN_WORDS: Record<string, string> = {
  accountAppMemory: "three quarters of the machine's memory",
  concurrency: 'half the processors, at least 1',
  sleepMemory: "a quarter of the machine's memory",
  processes: '64 for each processor, at least 512',
}

test('docs/reference/settings.md has every setting as the code has it', async () => {
  const expected = Object.entries(SETTINGS).map(([key, { byDefault, meaning }]) => [
    `\`${key}\``,
    `\`--${flagName(key)}\``,
    `\`${variableName(key)}\``,
    DEFAULTS_IN_WORDS[key] ?? (byDefault === '' ? 'none' : `\`${byDefault}\``),
    meaning,
  ])
  assert.deepEqual(await tableIn('settings.md', 'setting'), expected)
})
