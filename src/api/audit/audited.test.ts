/** Every route that changes something writes to the audit log, or is named here with the reason why not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resources, type schema } from '../../contract/index.ts'
import { COMMANDS } from '../../operator/index.ts'
import type { Route } from '../route.ts'
import { createRoutes, type RouteParts } from '../routes/index.ts'
import { auditedOf } from './audited.ts'

type Schema = schema.Schema

const NOT_AUDITED: Record<string, string> = {
  'POST /v1/accounts/{account}/apps/{app}/environments/{environment}/operations/{operation}:wait': 'It reads.',
  'POST /v1/accounts/{account}/notificationTargets/{notificationTarget}:test':
    'It changes nothing, and is in the log of deliveries.',
  'POST /wh/v1/accounts/{account}/apps/{app}/environments/{environment}/repository:push':
    'Calls of hooks are in the triggers of the environment; who connected the repository is in the audit log.',
  'DELETE /v1/session': 'A log-out gives no access to anything.',
  'POST /wh/v1/accounts/{account}/apps/{app}/environments/{environment}/webhooks/webhook:{action}':
    'Calls of webhooks are in the triggers of the environment; who made the URL is in the audit log.',
}

const COMMANDS_NOT_AUDITED: Record<string, string> = {
  'accounts list': 'It reads.',
  'service-certificates': 'It reads.',
  'service-certificates upload': 'It belongs to no account.',
  'service-certificates delete': 'It belongs to no account.',
  'service-certificates retry': 'It belongs to no account.',
  'cluster token': 'It belongs to no account.',
  'cluster revoke': 'It belongs to no account.',
  'cluster tokens': 'It reads.',
  'cluster status': 'It reads.',
  backup: 'It reads.',
  restore: 'It makes the whole database, with its audit logs.',
  'migrate-database': 'It moves the whole database, with its audit logs.',
}

/** Routes are made without their parts being used, so any part does. */
const anyPart: unknown = new Proxy(() => anyPart, { get: () => anyPart, apply: () => anyPart })
const routes = createRoutes(anyPart as RouteParts)
const nameOf = ({ method, path }: Route) => `${method} ${path}`

test('every route that changes something is audited, or says here why not', () => {
  const silent = routes.filter(({ method, audited }) => method !== 'GET' && !audited).map(nameOf)
  assert.deepEqual(silent.toSorted(), Object.keys(NOT_AUDITED).toSorted())
  assert.ok(routes.some(({ audited }) => audited))
})

test('reads are not audited', () => {
  assert.deepEqual(routes.filter(({ method, audited }) => method === 'GET' && audited).map(nameOf), [])
})

test('every command of the operator is audited, or says here why not', () => {
  const silent = COMMANDS.filter(({ audited }) => !audited).map(({ name }) => name)
  assert.deepEqual(silent.toSorted(), Object.keys(COMMANDS_NOT_AUDITED).toSorted())
})

test('every action of the contract is that of a route, a command or the remote of git', () => {
  const used = new Set([...routes, ...COMMANDS, { audited: 'PUSH' }].map(({ audited }) => audited))
  assert.deepEqual(
    resources.AUDIT_ACTIONS.filter((action) => !used.has(action)),
    [],
  )
})

const params = new Proxy({} as never, { get: (_, name) => String(name) })
const user = { requester: { kind: 'USER', name: 'ann@example.com' }, memberships: [], caller: '', session: {} } as never
const program = { requester: { kind: 'CREDENTIAL', name: 'ci' }, memberships: [], caller: '' } as never

test('a request is described by its path and the names of its fields', () => {
  const account = { id: '1', name: 'ours' }
  const request = { ip: '192.0.2.1', headers: { authorization: 'Basic eA==' } } as never
  const body = { displayName: 'x', etag: 'y', protection: { password: 'secret' } }
  const call = { params, body, account, principal: program, request }
  const path = '/v1/accounts/{account}/apps/{app}/environments/{environment}:unpin'
  assert.deepEqual(auditedOf({ path }, 'UNPIN', call), {
    accountId: '1',
    action: 'UNPIN',
    resource: 'apps/app/environments/environment',
    fields: ['displayName', 'protection'],
    by: { kind: 'CREDENTIAL', name: 'ci' },
    way: 'API',
    address: '192.0.2.1',
  })
})

const MARKER = 'cafe5ecre7'

/** A body with every field that the schema knows, and the marker in every text. */
function marked(of: Schema): unknown {
  const { type, properties, items, anyOf } = of as {
    type?: string | string[]
    properties?: Record<string, Schema>
    items?: Schema
    anyOf?: Schema[]
  }
  if (anyOf?.[0]) return marked(anyOf[0])
  if (properties) return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, marked(value)]))
  if (items) return [marked(items)]
  return [type].flat().includes('string') ? MARKER : 1
}

test('no value of any field of any audited route becomes part of an event', () => {
  const request = { ip: '', headers: { cookie: MARKER, 'user-agent': MARKER }, url: `/?token=${MARKER}` } as never
  const withBody = routes.filter(({ audited, body }) => audited && body)
  assert.ok(withBody.some(({ body }) => JSON.stringify(marked(body as Schema)).split(MARKER).length > 5))
  for (const { path, audited, body } of withBody) {
    const account = path.includes('{account}') ? { account: { id: '1', name: 'ours' } } : {}
    const call = { params, body: marked(body as Schema), principal: user, request, query: { x: MARKER }, ...account }
    const event = JSON.stringify(auditedOf({ path }, audited as resources.AuditAction, call))
    assert.ok(!event.includes(MARKER), `${path}: ${event}`)
  }
})

test('the way is told by the session, and by what the command line calls itself', () => {
  const wayOf = (headers: object, principal?: never) => {
    const request = { ip: '', headers } as never
    return auditedOf({ path: '/v1/session' }, 'LOG_IN', {
      params,
      body: { email: 'A@b ' },
      request,
      ...(principal ? { principal } : {}),
    })
  }
  const browser = { 'user-agent': 'Mozilla/5.0' }
  assert.equal(wayOf(browser, user).way, 'PORTAL')
  assert.equal(wayOf({ authorization: 'Basic eA==', 'user-agent': 'curl/8' }, program).way, 'API')
  assert.equal(wayOf({ authorization: 'Basic eA==', 'user-agent': 'headland' }, program).way, 'COMMAND_LINE')
  assert.deepEqual(wayOf(browser).by, { kind: 'USER', name: 'a@b' })
})
