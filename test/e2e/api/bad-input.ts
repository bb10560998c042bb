/**
 * Bad input: whatever a caller sends, the response is the right 4xx with a reason and the name of the invalid field,
 * nothing is written, and the service does not log a fault of its own.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { LIMITS, PROBLEMS, type Reason } from '../../../src/contract/index.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'
import { service } from './service.ts'

const as = await service.login()
const APPS = '/v1/accounts/default/apps'
const CREDENTIALS = '/v1/accounts/default/credentials'
const NEW_APP = { region: 'regions/US-C', uploadable: {} }
const NEW_ENVIRONMENT = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'cms' }

await createApp(service, as, { app: 'Shop' })
const kept = await createEnvironment(service, as, {
  app: 'Shop',
  body: { ...NEW_ENVIRONMENT, shellVariables: [{ key: 'KEPT', value: 'secret' }] },
})
await createApp(service, as, { app: 'second' })
const ENVIRONMENT = `/v1/${kept.name}`
const [operation] = (await service.call(`${ENVIRONMENT}/operations`, { as })).json.operations
const tokenOfNewestFirst = (await service.call(`${APPS}?pageSize=1`, { as })).json.nextPageToken
assert.notEqual(tokenOfNewestFirst, '')

type Row = {
  /** Completes the sentence "… is refused". */
  name: string
  method?: string
  path: string
  body?: unknown
  headers?: Record<string, string>
  reason: Reason
  /** The field that the response must name; if undefined, it must name none. */
  field?: string
  /** The expected `metadata.limit`. */
  limit?: number
  allow?: string
}

const createsApp = (name: string, body: unknown, reason: Reason, field?: string): Row => ({
  name,
  method: 'POST',
  path: `${APPS}?appId=fresh`,
  body,
  reason,
  ...(field === undefined ? {} : { field }),
})

const namesApp = (name: string, query: string): Row => ({
  name,
  method: 'POST',
  path: `${APPS}${query}`,
  body: NEW_APP,
  reason: 'FIELD_INVALID',
  field: 'appId',
})

const takesName = (name: string, appId: string): Row => ({
  name,
  method: 'POST',
  path: `${APPS}?appId=${appId}`,
  body: NEW_APP,
  reason: 'APP_EXISTS',
})

const createsEnvironment = (name: string, change: object, field: string, more: Partial<Row> = {}): Row => ({
  name,
  method: 'POST',
  path: `${APPS}/Shop/environments`,
  body: { ...NEW_ENVIRONMENT, ...change },
  reason: 'FIELD_INVALID',
  field,
  ...more,
})

const changesEnvironment = (name: string, query: string, body: object, field: string): Row => ({
  name,
  method: 'PATCH',
  path: `${ENVIRONMENT}${query}`,
  body,
  reason: 'FIELD_INVALID',
  field,
})

const asks = (name: string, path: string, field: string, more: Partial<Row> = {}): Row => ({
  name,
  path,
  reason: 'FIELD_INVALID',
  field,
  ...more,
})

const nested = (open: string, middle: string, close: string) => {
  const depth = Math.floor((LIMITS.bodyBytes - 100) / (open.length + close.length))
  return open.repeat(depth) + middle + close.repeat(depth)
}

const variables = (count: number, bytesEach = 1) =>
  Array.from({ length: count }, (_, index) => ({ key: `V${index}`, value: 'x'.repeat(bytesEach) }))

const BODIES: Row[] = [
  createsApp('a body that is not JSON', '{"region": regions/US-C}', 'JSON_MALFORMED'),
  createsApp('a body that breaks off', '{"region": "regions/US-C"', 'JSON_MALFORMED'),
  createsApp('a body with something after its end', `${JSON.stringify(NEW_APP)}}`, 'JSON_MALFORMED'),
  createsApp('a body that is not UTF-8', Buffer.from('{"region":"\xff"}', 'latin1'), 'JSON_MALFORMED'),
  createsApp('a body in UTF-16', Buffer.from(JSON.stringify(NEW_APP), 'utf16le'), 'JSON_MALFORMED'),
  createsApp('a megabyte of open brackets', '['.repeat(LIMITS.bodyBytes), 'JSON_MALFORMED'),
  createsApp('a megabyte of nested arrays', nested('[', '', ']'), 'FIELD_INVALID', 'body'),
  createsApp('a megabyte of nested objects', nested('{"a":', '1', '}'), 'FIELD_INVALID', 'a'),
  createsApp('a field of nested objects', `{"region":${nested('{"a":', '1', '}')}}`, 'FIELD_INVALID', 'region'),
  createsApp('an empty body', '', 'FIELD_INVALID', 'body'),
  createsApp('a body of null', 'null', 'FIELD_INVALID', 'body'),
  createsApp('a body that is an array', [NEW_APP], 'FIELD_INVALID', 'body'),
  createsApp('a body that is a string', '"region"', 'FIELD_INVALID', 'body'),
  createsApp('a body that is a number', '1', 'FIELD_INVALID', 'body'),
  createsApp('an unknown body field', { ...NEW_APP, colour: 'blue' }, 'FIELD_INVALID', 'colour'),
  createsApp(
    'a field named __proto__',
    '{"region":"regions/UK","uploadable":{},"__proto__":{}}',
    'FIELD_INVALID',
    '__proto__',
  ),
  createsApp(
    'a body whose fields are all in __proto__',
    '{"__proto__":{"region":"regions/UK","uploadable":{}}}',
    'FIELD_INVALID',
    'region',
  ),
  createsApp(
    'a nested field named __proto__',
    '{"region":"regions/UK","uploadable":{"__proto__":1}}',
    'FIELD_INVALID',
    'uploadable.__proto__',
  ),
  createsApp('a field named constructor', { ...NEW_APP, constructor: {} }, 'FIELD_INVALID', 'constructor'),
  createsApp('a region in lower case', { ...NEW_APP, region: 'regions/us-c' }, 'FIELD_INVALID', 'region'),
  createsApp('a region without its prefix', { ...NEW_APP, region: 'US-C' }, 'FIELD_INVALID', 'region'),
  createsApp('a region that is a number', { ...NEW_APP, region: 1 }, 'FIELD_INVALID', 'region'),
  createsApp('a missing region', { uploadable: {} }, 'FIELD_INVALID', 'region'),
  createsApp('a missing uploadable', { region: 'regions/US-C' }, 'FIELD_INVALID', 'uploadable'),
  createsApp('an uploadable that is not empty', { ...NEW_APP, uploadable: { a: 1 } }, 'FIELD_INVALID', 'uploadable.a'),
  createsApp('an uploadable that is an array', { ...NEW_APP, uploadable: [] }, 'FIELD_INVALID', 'uploadable'),
  createsApp('an uploadable that is null', { ...NEW_APP, uploadable: null }, 'FIELD_INVALID', 'uploadable'),
  {
    ...createsApp('a body over the limit', 'x'.repeat(LIMITS.bodyBytes + 1), 'BODY_TOO_LARGE'),
    limit: LIMITS.bodyBytes,
  },
  {
    ...createsApp('a body of another content type', JSON.stringify(NEW_APP), 'CONTENT_TYPE_UNSUPPORTED'),
    headers: { 'content-type': 'text/plain' },
  },
  {
    ...createsApp('a form', 'region=regions/US-C', 'CONTENT_TYPE_UNSUPPORTED'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  {
    ...createsApp('a content type that only begins like JSON', JSON.stringify(NEW_APP), 'CONTENT_TYPE_UNSUPPORTED'),
    headers: { 'content-type': 'application/jsonlines' },
  },
  {
    name: 'a null where the body may be left out',
    method: 'POST',
    path: CREDENTIALS,
    body: 'null',
    reason: 'FIELD_INVALID',
    field: 'body',
  },
]

const APP_NAMES: Row[] = [
  namesApp('a missing appId', ''),
  namesApp('an empty appId', '?appId='),
  namesApp('a repeated appId', '?appId=one&appId=two'),
  namesApp('an appId with a slash', '?appId=a/b'),
  namesApp('an appId with an encoded slash', '?appId=a%2fb'),
  namesApp('an appId of dots', '?appId=..'),
  namesApp('an appId with a NUL', '?appId=a%00b'),
  namesApp('an appId with an emoji', '?appId=%F0%9F%98%80'),
  namesApp('an appId with half an emoji', '?appId=a%F0%9F'),
  namesApp('an appId with a letter that folds to ASCII', '?appId=%E2%84%AAelvin'),
  namesApp('an appId with a line break at its end', '?appId=shop%0A'),
  namesApp('an appId with a bad escape', '?appId=a%zz'),
  namesApp('an appId with shell characters', `?appId=${encodeURIComponent('$(id);`id`')}`),
  namesApp('an appId that begins with a hyphen', '?appId=-rf'),
  namesApp('an appId of 41 characters', `?appId=${'a'.repeat(LIMITS.appNameLength + 1)}`),
  namesApp('an appId of 10,000 characters', `?appId=${'a'.repeat(10_000)}`),
  takesName('an appId that is taken', 'Shop'),
  takesName('an appId that is taken in another case', 'sHOP'),
  { ...namesApp('an unknown query parameter', '?appId=fresh&colour=blue'), field: 'colour' },
  { ...namesApp('a query parameter named __proto__', '?appId=fresh&__proto__=1'), field: '__proto__' },
  { ...namesApp('a query parameter in another case', '?appID=fresh'), field: 'appID' },
]

const ENVIRONMENTS: Row[] = [
  createsEnvironment('an unknown field of an environment', { colour: 'blue' }, 'colour'),
  createsEnvironment('a missing displayName', { displayName: undefined }, 'displayName'),
  createsEnvironment('an empty displayName', { displayName: '' }, 'displayName'),
  createsEnvironment('a blank displayName', { displayName: ' \u00a0\u3000' }, 'displayName'),
  createsEnvironment('a displayName with a line break', { displayName: 'a\nb' }, 'displayName'),
  createsEnvironment('a displayName with a line separator', { displayName: 'a\u2028b' }, 'displayName'),
  createsEnvironment('a displayName with a NUL', { displayName: 'a\0b' }, 'displayName'),
  createsEnvironment('a displayName with an escape character', { displayName: 'a\u001b[31m' }, 'displayName'),
  createsEnvironment('a displayName with half a surrogate pair', { displayName: 'a\ud83d' }, 'displayName'),
  createsEnvironment('a displayName of 101 characters', { displayName: 'x'.repeat(101) }, 'displayName'),
  createsEnvironment('a displayName that is a number', { displayName: 1 }, 'displayName'),
  createsEnvironment('a displayName that is null', { displayName: null }, 'displayName'),
  createsEnvironment('a missing branch', { branch: undefined }, 'branch'),
  createsEnvironment('a branch whose name git does not take', { branch: 'a..b' }, 'branch'),
  createsEnvironment('a missing cmsEnvironment', { cmsEnvironment: undefined }, 'cmsEnvironment'),
  createsEnvironment('an empty cmsEnvironment', { cmsEnvironment: '' }, 'cmsEnvironment'),
  createsEnvironment('a wpEnvironment that differs from cmsEnvironment', { wpEnvironment: 'other' }, 'wpEnvironment'),
  createsEnvironment('an absolute rootDirectory', { rootDirectory: '/etc' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory of two dots', { rootDirectory: '..' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory that begins with two dots', { rootDirectory: '../x' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory with two dots inside', { rootDirectory: 'a/../b' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory that ends in two dots', { rootDirectory: 'a/..' }, 'rootDirectory'),
  createsEnvironment(
    'a rootDirectory with two dots after a line separator',
    { rootDirectory: 'a\u2028/../..' },
    'rootDirectory',
  ),
  createsEnvironment('a rootDirectory with a back-slash', { rootDirectory: 'a\\b' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory with a NUL', { rootDirectory: 'a\0' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory with a line break', { rootDirectory: 'a\n/../..' }, 'rootDirectory'),
  createsEnvironment('a rootDirectory of 1,025 characters', { rootDirectory: 'x'.repeat(1025) }, 'rootDirectory'),
  createsEnvironment('fewer than no instances', { minInstances: -1 }, 'minInstances'),
  createsEnvironment('17 instances that always run', { minInstances: 17 }, 'minInstances'),
  createsEnvironment('no instance at most', { maxInstances: 0 }, 'maxInstances'),
  createsEnvironment('17 instances at most', { maxInstances: 17 }, 'maxInstances'),
  createsEnvironment('half an instance', { maxInstances: 1.5 }, 'maxInstances'),
  createsEnvironment('a number of instances as text', { maxInstances: '2' }, 'maxInstances'),
  createsEnvironment('no request for each instance', { requestsPerInstance: 0 }, 'requestsPerInstance'),
  createsEnvironment('1,001 requests for each instance', { requestsPerInstance: 1001 }, 'requestsPerInstance'),
  createsEnvironment('more instances at least than at most', { minInstances: 3, maxInstances: 2 }, 'minInstances'),
  createsEnvironment('two instances that always run, of one at most', { minInstances: 2 }, 'minInstances'),
  createsEnvironment('a production that is text', { production: 'yes' }, 'production'),
  createsEnvironment('a password of seven characters', { protection: { password: '1234567' } }, 'protection.password'),
  createsEnvironment(
    'a password of 129 characters',
    { protection: { password: 'x'.repeat(129) } },
    'protection.password',
  ),
  createsEnvironment(
    'a password with a line break',
    { protection: { password: 'one\ntwo three' } },
    'protection.password',
  ),
  createsEnvironment('a protection of another kind', { protection: { hasPassword: true } }, 'protection.hasPassword'),
  createsEnvironment(
    'an address that is a name',
    { protection: { addresses: ['example.com'] } },
    'protection.addresses[0]',
  ),
  createsEnvironment(
    'a range beyond its family',
    { protection: { addresses: ['::/0', '10.0.0.0/33'] } },
    'protection.addresses[1]',
  ),
  createsEnvironment(
    '101 addresses',
    { protection: { addresses: Array.from({ length: 101 }, () => '::1') } },
    'protection.addresses',
  ),
  {
    name: 'an environment in an app that is not there',
    method: 'POST',
    path: `${APPS}/unknown/environments`,
    body: NEW_ENVIRONMENT,
    reason: 'APP_NOT_FOUND',
  },
]

const key = (name: string, given: unknown): Row =>
  createsEnvironment(name, { shellVariables: [{ key: given, value: 'x' }] }, 'shellVariables[0].key')
const value = (name: string, given: unknown): Row =>
  createsEnvironment(name, { shellVariables: [{ key: 'A', value: given }] }, 'shellVariables[0].value')
const tooLarge = (name: string, shellVariables: unknown, field: string, limit: number): Row =>
  createsEnvironment(name, { shellVariables }, field, { reason: 'BODY_TOO_LARGE', limit })

const VARIABLES: Row[] = [
  key('a variable whose key begins with a digit', '1A'),
  key('a variable whose key has a hyphen', 'A-B'),
  key('a variable whose key has an equals sign', 'A=B'),
  key('a variable whose key has shell characters', 'A;id'),
  key('a variable whose key has a line break at its end', 'A\n'),
  key('a variable whose key is empty', ''),
  key('a variable whose key is not ASCII', 'Ä'),
  key('a variable whose key has 129 characters', 'A'.repeat(LIMITS.variableKeyLength + 1)),
  key('a variable whose key is a number', 1),
  key('a variable without a key', undefined),
  value('a variable with a NUL in its value', 'a\0b'),
  value('a variable with half a surrogate pair in its value', 'a\ud83d'),
  value('a variable whose value is a number', 1),
  value('a new variable without a value', undefined),
  ...['plain', '', null, ['PLAIN']].map((kind) =>
    createsEnvironment(
      `a variable of the kind ${JSON.stringify(kind)}`,
      { shellVariables: [{ key: 'A', kind, value: 'x' }] },
      'shellVariables[0].kind',
    ),
  ),
  createsEnvironment(
    'a variable that is reserved',
    { shellVariables: [{ key: 'PORT', value: '1' }] },
    'shellVariables[0].key',
    {
      reason: 'VARIABLE_RESERVED',
    },
  ),
  createsEnvironment(
    'a variable that is given twice',
    { shellVariables: [...variables(3), { key: 'V1', value: 'again' }] },
    'shellVariables[3].key',
  ),
  createsEnvironment(
    'an unknown field of a variable',
    { shellVariables: [{ key: 'A', value: '', secret: true }] },
    'shellVariables[0].secret',
  ),
  createsEnvironment('an object in place of the list of variables', { shellVariables: { A: 'x' } }, 'shellVariables'),
  createsEnvironment('a variable that is a string', { shellVariables: ['A=x'] }, 'shellVariables[0]'),
  tooLarge('a list of too many variables', variables(LIMITS.variables + 1), 'shellVariables', LIMITS.variables),
  tooLarge(
    'a value over the limit',
    variables(1, LIMITS.variableValueBytes + 1),
    'shellVariables[0].value',
    LIMITS.variableValueBytes,
  ),
  tooLarge(
    'a value over the limit in bytes alone',
    [{ key: 'A', value: 'ä'.repeat(LIMITS.variableValueBytes / 2 + 1) }],
    'shellVariables[0].value',
    LIMITS.variableValueBytes,
  ),
  tooLarge(
    'a list of variables that is too large as a whole',
    variables(9, 60_000),
    'shellVariables',
    LIMITS.variableTotalBytes,
  ),
]

const CHANGES: Row[] = [
  changesEnvironment('an updateMask that names a fixed field', '?updateMask=url', { displayName: 'x' }, 'updateMask'),
  changesEnvironment(
    'an updateMask that names an unknown field',
    '?updateMask=__proto__',
    { displayName: 'x' },
    'updateMask',
  ),
  changesEnvironment('an empty updateMask', '?updateMask=', { displayName: 'x' }, 'updateMask'),
  changesEnvironment('an updateMask with a hole', '?updateMask=displayName,', { displayName: 'x' }, 'updateMask'),
  changesEnvironment(
    'a repeated updateMask',
    '?updateMask=displayName&updateMask=branch',
    { displayName: 'x' },
    'updateMask',
  ),
  changesEnvironment(
    'an updateMask of 201 characters',
    `?updateMask=${'x'.repeat(201)}`,
    { displayName: 'x' },
    'updateMask',
  ),
  changesEnvironment('a change of nothing', '', {}, 'updateMask'),
  changesEnvironment('a mask without the field it names', '?updateMask=displayName', {}, 'displayName'),
  changesEnvironment('a change of a fixed field', '', { url: 'http://x' }, 'url'),
  changesEnvironment('a change of the name', '', { name: 'accounts/default' }, 'name'),
  changesEnvironment('a change to a blank displayName', '', { displayName: '\t' }, 'displayName'),
  changesEnvironment(
    'a changed variable without a value to keep',
    '',
    { shellVariables: [{ key: 'NEW' }] },
    'shellVariables[0].value',
  ),
  changesEnvironment(
    'a secret that is to be plain, without its value',
    '',
    { shellVariables: [{ key: 'KEPT', kind: 'PLAIN' }] },
    'shellVariables[0].value',
  ),
  {
    ...changesEnvironment(
      'a change to a reserved variable',
      '',
      { shellVariables: [{ key: 'NODE_ENV', value: 'x' }] },
      'shellVariables[0].key',
    ),
    reason: 'VARIABLE_RESERVED',
  },
]

const QUERIES: Row[] = [
  asks('a pageToken that is nonsense', `${APPS}?pageToken=nonsense`, 'pageToken', { reason: 'PAGE_TOKEN_INVALID' }),
  asks('a pageToken of another order', `${APPS}?orderBy=createTime&pageToken=${tokenOfNewestFirst}`, 'pageToken', {
    reason: 'PAGE_TOKEN_INVALID',
  }),
  asks(
    'a pageToken with SQL in it',
    `${APPS}?pageToken=${Buffer.from("newest ' OR 1=1 --").toString('base64url')}`,
    'pageToken',
    { reason: 'PAGE_TOKEN_INVALID' },
  ),
  asks('a pageToken of 201 characters', `${APPS}?pageToken=${'x'.repeat(201)}`, 'pageToken'),
  asks('a negative pageSize', `${APPS}?pageSize=-1`, 'pageSize'),
  asks('a pageSize that is a fraction', `${APPS}?pageSize=1.5`, 'pageSize'),
  asks('a pageSize that is a word', `${APPS}?pageSize=ten`, 'pageSize'),
  asks('an empty pageSize', `${APPS}?pageSize=`, 'pageSize'),
  asks('a repeated pageSize', `${APPS}?pageSize=1&pageSize=2`, 'pageSize'),
  asks('an orderBy that is unknown', `${APPS}?orderBy=name`, 'orderBy'),
  asks('a view that is unknown', `${ENVIRONMENT}?view=ALL`, 'view'),
  asks('a filter, which no list has', `${APPS}?filter=x`, 'filter'),
  asks('an unknown query parameter where there are none', '/v1/regions?colour=blue', 'colour'),
  asks('an unknown query parameter of a public route', '/healthz?colour=blue', 'colour'),
  asks('a force that is not true or false', `${APPS}/Shop?force=yes`, 'force', { method: 'DELETE' }),
  asks('a timeout without its unit', `/v1/${operation.name}:wait?timeout=30`, 'timeout', { method: 'POST' }),
  asks('a negative timeout', `/v1/${operation.name}:wait?timeout=-1s`, 'timeout', { method: 'POST' }),
  asks('a body of a wait that is not empty', `/v1/${operation.name}:wait`, 'timeout', {
    method: 'POST',
    body: { timeout: '1s' },
  }),
  asks('a role that is unknown', CREDENTIALS, 'role', { method: 'POST', body: { role: 'admin' } }),
  asks('a credential with a blank displayName', CREDENTIALS, 'displayName', {
    method: 'POST',
    body: { displayName: ' ' },
  }),
  asks('a log-in without a password', '/v1/session', 'password', { method: 'POST', body: { email: 'a@b' } }),
  asks('a log-in with an endless password', '/v1/session', 'password', {
    method: 'POST',
    body: { email: 'a@b', password: 'x'.repeat(1025) },
  }),
]

const PATHS: Row[] = [
  asks('an app in the path with an encoded slash', `${APPS}/a%2fb`, 'app'),
  asks('an app in the path with a NUL', `${APPS}/a%00b`, 'app'),
  asks('an app in the path with an emoji', `${APPS}/%F0%9F%98%80`, 'app'),
  asks('an app in the path with SQL in it', `${APPS}/${encodeURIComponent("' OR 1=1 --")}`, 'app'),
  asks('an app in the path of 10,000 characters', `${APPS}/${'a'.repeat(10_000)}`, 'app'),
  asks('an empty app in the path', `${APPS}/`, 'app'),
  asks('an app in the path with an encoded colon', `${APPS}/a%3Ab`, 'app'),
  asks('an environment that is not a UUID', `${APPS}/Shop/environments/production`, 'environment'),
  asks(
    'an environment in upper case',
    ENVIRONMENT.replace(/[^/]+$/, (id) => id.toUpperCase()),
    'environment',
  ),
  asks('an operation that is not a UUID', `${ENVIRONMENT}/operations/1`, 'operation'),
  asks('a credential that is not a UUID', `${CREDENTIALS}/1`, 'credential', { method: 'DELETE' }),
  { name: 'a path with a bad escape', path: `${APPS}/a%zz`, reason: 'REQUEST_MALFORMED' },
  { name: 'a path that is not UTF-8', path: `${APPS}/%ff`, reason: 'REQUEST_MALFORMED' },
  { name: 'an unknown path', path: '/v1/nothing', reason: 'ROUTE_NOT_FOUND' },
  { name: 'a path with script in it', path: '/v1/<script>alert(1)</script>', reason: 'ROUTE_NOT_FOUND' },
  { name: 'a path with a slash too many', path: `${APPS}//Shop`, reason: 'ROUTE_NOT_FOUND' },
  {
    name: 'an unknown verb on a path that can be read',
    path: `${ENVIRONMENT}:explode`,
    reason: 'ROUTE_NOT_FOUND',
  },
  { name: 'an unknown verb', method: 'POST', path: `${ENVIRONMENT}:explode`, reason: 'ROUTE_NOT_FOUND' },
  { name: 'an account whose name cannot be one', path: '/v1/accounts/%00/apps', reason: 'ACCOUNT_NOT_FOUND' },
]

const METHODS: Row[] = [
  {
    name: 'PUT on the list of apps',
    method: 'PUT',
    path: APPS,
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'POST, GET, HEAD',
  },
  {
    name: 'PUT on an app',
    method: 'PUT',
    path: `${APPS}/Shop`,
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'GET, HEAD, DELETE, PATCH',
  },
  {
    name: 'DELETE on the regions',
    method: 'DELETE',
    path: '/v1/regions',
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'GET, HEAD',
  },
  {
    name: 'OPTIONS on an app',
    method: 'OPTIONS',
    path: `${APPS}/Shop`,
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'GET, HEAD, DELETE, PATCH',
  },
  {
    name: 'PROPFIND on an app',
    method: 'PROPFIND',
    path: `${APPS}/Shop`,
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'GET, HEAD, DELETE, PATCH',
  },
  { name: 'GET on a verb', path: `/v1/${operation.name}:wait`, reason: 'METHOD_NOT_ALLOWED', allow: 'POST' },
  {
    name: 'DELETE on a verb',
    method: 'DELETE',
    path: `/v1/${operation.name}:cancel`,
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'POST',
  },
  {
    name: 'POST on a public page',
    method: 'POST',
    path: '/healthz',
    body: {},
    reason: 'METHOD_NOT_ALLOWED',
    allow: 'GET, HEAD',
  },
]

const AUTHORIZATIONS: Row[] = [
  ...[
    '',
    'Basic',
    'Basic !!!',
    'Bearer token',
    `Basic ${btoa('no colon')}`,
    `Basic ${btoa(':')}`,
    `Basic ${btoa("' OR 1=1:x")}`,
  ].map(
    (authorization): Row => ({
      name: `the header 'Authorization: ${authorization}'`,
      path: APPS,
      headers: { authorization },
      reason: 'CREDENTIALS_WRONG',
    }),
  ),
]

/** Reasons that any path can answer with; the document does not repeat them for every route. */
const OF_EVERY_PATH: readonly Reason[] = [
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_MALFORMED',
  'HEADERS_TOO_LARGE',
]

type Described = { paths: Record<string, Record<string, { 'x-reasons': Reason[] }>> }
const described: Described = (await service.call('/openapi.json')).json

function documentedReasons(method: string, path: string): Reason[] | undefined {
  const target = path.split('?', 1)[0] ?? ''
  const found = Object.keys(described.paths).find((template) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/:]+')}$`).test(target),
  )
  return found === undefined ? undefined : described.paths[found]?.[method.toLowerCase()]?.['x-reasons']
}

/** Everything of the account that a caller can list. */
async function lists() {
  const paths = [APPS, `${APPS}/Shop/environments?view=FULL`, `${ENVIRONMENT}/operations`, CREDENTIALS]
  return Promise.all(paths.map(async (path) => (await service.call(path, { as })).json))
}

/**
 * The lists once no operation changes them, so that a request that was wrongly accepted does not fail the test of
 * another row.
 */
async function settledLists(): ReturnType<typeof lists> {
  return until(async () => {
    const found = await lists()
    return !JSON.stringify(found).includes('"reconciling":true') && found
  }, 'every operation has ended')
}

type Refusal = {
  error: {
    code: number
    status: string
    message: string
    details: { metadata?: Record<string, string>; fieldViolations?: { field: string; description: string }[] }[]
  }
}

function checkRefusal(
  { error }: Refusal,
  { reason, field, limit, allow }: Pick<Row, 'reason' | 'field' | 'limit' | 'allow'>,
) {
  const [info, badRequest] = error.details
  const { http, status } = PROBLEMS[reason]
  assert.deepEqual(info, {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'headland',
    metadata: info?.metadata ?? {},
  })
  assert.deepEqual([error.code, error.status], [http, status])
  assert.match(error.message, /\S/)
  if (limit !== undefined) assert.equal(info.metadata?.limit, String(limit))
  if (allow !== undefined) assert.equal(info.metadata?.allow, allow)
  const fields = badRequest?.fieldViolations?.map((violation) => violation.field) ?? []
  if (field !== undefined)
    assert.ok(fields.includes(field), `${field} is not among the fields named: ${fields.join(', ')}`)
  else assert.deepEqual(fields, [])
}

for (const row of [
  ...BODIES,
  ...APP_NAMES,
  ...ENVIRONMENTS,
  ...VARIABLES,
  ...CHANGES,
  ...QUERIES,
  ...PATHS,
  ...METHODS,
  ...AUTHORIZATIONS,
]) {
  const { name, method = 'GET', path, body, headers = {}, reason } = row
  test(`${name} is refused with ${PROBLEMS[reason].http} ${reason}`, async () => {
    const before = await settledLists()
    const answer = await service.call(path, {
      method,
      headers,
      ...(headers.authorization === undefined ? { as } : {}),
      ...(body === undefined ? {} : { body }),
    })
    assert.equal(answer.reason, reason, answer.text)
    assert.equal(answer.status, PROBLEMS[reason].http)
    checkRefusal(answer.json, row)
    if (row.allow !== undefined) assert.equal(answer.headers.get('allow'), row.allow)
    const documented = documentedReasons(method, path)
    if (documented && !OF_EVERY_PATH.includes(reason)) {
      assert.ok(documented.includes(reason), `${method} ${path} is not documented to answer ${reason}`)
    }
    assert.deepEqual(await lists(), before)
  })
}

test('a name of the wrong form is explained in words', async () => {
  const answer = await service.call(`${APPS}?appId=-`, { method: 'POST', as, body: NEW_APP })
  assert.match(answer.json.error.message, /appId must have 1 to 40 letters, digits, hyphens and underscores/)
})

test('every invalid field is named, and not only the first', async () => {
  const { json } = await service.call(`${APPS}/Shop/environments`, {
    method: 'POST',
    as,
    body: { displayName: '', branch: 'a b', cmsEnvironment: 1, colour: 'blue' },
  })
  const { fieldViolations } = json.error.details[1]
  assert.deepEqual(
    fieldViolations.map(({ field }: { field: string }) => field),
    ['displayName', 'branch', 'cmsEnvironment', 'colour'],
  )
})

test('an answer stays small however many fields are unknown', async () => {
  const body = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`field-${index}-${'x'.repeat(20)}`, 1]))
  const answer = await service.call(`${APPS}?appId=fresh`, { method: 'POST', as, body })
  assert.equal(answer.reason, 'FIELD_INVALID')
  assert.ok(answer.text.length < 5_000, `the answer has ${answer.text.length} characters`)
})

test('kept variables count towards the limit of all variables together', async () => {
  const first = variables(8, 60_000)
  const body = { ...NEW_ENVIRONMENT, shellVariables: first }
  const environment = await createEnvironment(service, as, { app: 'second', body })
  const grown = [
    ...first.map(({ key }) => ({ key })),
    ...first.map(({ key, value }) => ({ key: `MORE_${key}`, value })),
  ]
  const answer = await service.call(`/v1/${environment.name}`, { method: 'PATCH', as, body: { shellVariables: grown } })
  assert.equal(answer.status, 413, answer.text)
  checkRefusal(answer.json, { reason: 'BODY_TOO_LARGE', field: 'shellVariables', limit: LIMITS.variableTotalBytes })
})

const { hostname, port } = new URL(service.api)
const AUTHORIZATION = `Authorization: Basic ${btoa(`${as.userId}:${as.password}`)}`
const HEADERS = ['Host: headland.test', AUTHORIZATION, 'Connection: close']

const message = (requestLine: string, headers: readonly string[] = [], body = ''): string =>
  [`${requestLine} HTTP/1.1`, ...HEADERS, ...headers, '', body].join('\r\n')

/** Sends bytes as they are, and reads until the service closes the connection. */
function exchange(sent: string): Promise<{ status: number; json: Refusal }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no end after: ${text}`)))
    socket.on('error', reject)
    socket.on('end', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n')
      try {
        resolve({ status: Number(head.split(' ')[1]), json: JSON.parse(body) })
      } catch {
        reject(new Error(`this is not an answer in JSON: ${text}`))
      }
    })
    socket.write(sent, 'latin1')
  })
}

type RawRow = { name: string; sent: string; reason: Reason; field?: string; limit?: number }

const JSON_TYPE = 'Content-Type: application/json'
const CREATE = `POST ${APPS}?appId=fresh`
const GOOD = JSON.stringify(NEW_APP)
const GOOD_LENGTH = `Content-Length: ${GOOD.length}`

const RAW: RawRow[] = [
  {
    name: 'a body without a content type',
    sent: message(CREATE, [GOOD_LENGTH], GOOD),
    reason: 'CONTENT_TYPE_UNSUPPORTED',
  },
  {
    name: 'a request without a body',
    sent: message(CREATE, ['Content-Length: 0']),
    reason: 'FIELD_INVALID',
    field: 'body',
  },
  {
    name: 'a request with two lengths',
    sent: message(CREATE, [JSON_TYPE, GOOD_LENGTH, 'Content-Length: 2'], GOOD),
    reason: 'REQUEST_MALFORMED',
  },
  {
    name: 'a request with two equal lengths',
    sent: message(CREATE, [JSON_TYPE, GOOD_LENGTH, GOOD_LENGTH], GOOD),
    reason: 'REQUEST_MALFORMED',
  },
  {
    name: 'a request with a length and chunks',
    sent: message(CREATE, [JSON_TYPE, GOOD_LENGTH, 'Transfer-Encoding: chunked'], `2\r\n{}\r\n0\r\n\r\n`),
    reason: 'REQUEST_MALFORMED',
  },
  {
    name: 'a length that is negative',
    sent: message(CREATE, [JSON_TYPE, 'Content-Length: -1'], GOOD),
    reason: 'REQUEST_MALFORMED',
  },
  {
    name: 'a chunk whose size is not a number',
    sent: message(CREATE, [JSON_TYPE, 'Transfer-Encoding: chunked'], `zz\r\n${GOOD}\r\n0\r\n\r\n`),
    reason: 'REQUEST_MALFORMED',
  },
  {
    name: 'a body in chunks that is over the limit',
    sent: message(
      CREATE,
      [JSON_TYPE, 'Transfer-Encoding: chunked'],
      `${(LIMITS.bodyBytes + 1).toString(16)}\r\n${'x'.repeat(LIMITS.bodyBytes + 1)}\r\n0\r\n\r\n`,
    ),
    reason: 'BODY_TOO_LARGE',
    limit: LIMITS.bodyBytes,
  },
  {
    name: 'a header over the limit',
    sent: message(`GET ${APPS}`, [`X-Long: ${'x'.repeat(LIMITS.headerBytes)}`]),
    reason: 'HEADERS_TOO_LARGE',
  },
  {
    name: 'a block of many headers over the limit',
    sent: message(
      `GET ${APPS}`,
      Array.from({ length: 1000 }, (_, index) => `X-${index}: ${'x'.repeat(20)}`),
    ),
    reason: 'HEADERS_TOO_LARGE',
  },
  {
    name: 'an address over the limit',
    sent: message(`GET ${APPS}/${'a'.repeat(LIMITS.headerBytes)}`),
    reason: 'HEADERS_TOO_LARGE',
  },
  {
    name: 'a header line that is folded',
    sent: message(`GET ${APPS}`, ['X-Folded: a', ' b']),
    reason: 'REQUEST_MALFORMED',
  },
  { name: 'a header with a NUL', sent: message(`GET ${APPS}`, ['X-Nul: a\0b']), reason: 'REQUEST_MALFORMED' },
  { name: 'a header name with a space', sent: message(`GET ${APPS}`, ['X Space: a']), reason: 'REQUEST_MALFORMED' },
  { name: 'a request with bare line feeds', sent: `GET ${APPS} HTTP/1.1\nHost: a\n\n`, reason: 'REQUEST_MALFORMED' },
  { name: 'an unknown method', sent: message(`EXPLODE ${APPS}`), reason: 'REQUEST_MALFORMED' },
  { name: 'an address with bytes above ASCII', sent: message(`GET ${APPS}/\xff`), reason: 'REQUEST_MALFORMED' },
  { name: 'garbage instead of HTTP', sent: 'this is not HTTP at all\r\n\r\n', reason: 'REQUEST_MALFORMED' },
  {
    name: 'the greeting of TLS instead of HTTP',
    sent: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    reason: 'REQUEST_MALFORMED',
  },
  { name: 'two dots as an app', sent: message(`GET ${APPS}/..`), reason: 'FIELD_INVALID', field: 'app' },
  { name: 'two encoded dots as an app', sent: message(`GET ${APPS}/%2e%2e`), reason: 'FIELD_INVALID', field: 'app' },
  { name: 'a path with two dots inside', sent: message('GET /v1/regions/../regions'), reason: 'ROUTE_NOT_FOUND' },
  { name: 'a TRACE', sent: message(`TRACE ${APPS}`), reason: 'METHOD_NOT_ALLOWED' },
]

for (const { name, sent, ...expected } of RAW) {
  const { http } = PROBLEMS[expected.reason]
  test(`${name} is refused with ${http} ${expected.reason}`, async () => {
    const before = await lists()
    const { status, json } = await exchange(sent)
    assert.equal(status, http, JSON.stringify(json))
    checkRefusal(json, expected)
    assert.deepEqual(await lists(), before)
  })
}

test('a caller who keeps sending a body over the limit may finish, and so gets to read the response', async () => {
  const length = 4 * LIMITS.bodyBytes
  const socket = connect({ host: hostname, port: Number(port) })
  const headers = HEADERS.filter((header) => !header.startsWith('Connection'))
  socket.write([`${CREATE} HTTP/1.1`, ...headers, JSON_TYPE, `Content-Length: ${length}`, '', ''].join('\r\n'))
  const fault = await new Promise<Error | undefined>((resolve) => {
    socket.setTimeout(TIMEOUT_MS, () => resolve(new Error('nothing happened')))
    socket.once('error', resolve)
    socket.once('data', (chunk) => {
      assert.match(chunk.toString(), /^HTTP\/1\.1 413 /)
      socket.write('x'.repeat(length), (error) => resolve(error ?? undefined))
    })
  })
  socket.destroy()
  assert.equal(fault, undefined)
})

test('a caller who leaves in the middle of a body does no harm', async () => {
  const before = await lists()
  const socket = connect({ host: hostname, port: Number(port) })
  const path = `${APPS}/Shop/environments`
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.write(message(`POST ${path}`, [JSON_TYPE, 'Content-Length: 100', 'Expect: 100-continue'], '{"displ'))
    // The interim reply shows that the service is reading the body now.
    socket.once('data', () => resolve())
  })
  socket.destroy()
  assert.deepEqual(await lists(), before)
})

test('none of this was logged as a fault of the service', async () => {
  assert.equal((await service.call('/readyz')).status, 200)
  await service.call('/v1/the-end')
  await until(() => service.log().includes('/v1/the-end'))
  const lines = service.log().split('\n')
  assert.deepEqual(
    lines.filter((line) => line.startsWith('{') && ['error', 'fatal'].includes(JSON.parse(line).level)),
    [],
  )
})
