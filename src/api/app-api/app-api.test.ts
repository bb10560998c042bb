import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { TIMEOUT_MS, until } from '../../../test/support/until.ts'
import { createTokens } from '../../apps/index.ts'
import { LIMITS, Problem } from '../../contract/index.ts'
import { createRevalidations, type Purged } from '../../deployments/index.ts'
import { createFolderKv } from '../../kv/index.ts'
import { createVault } from '../../storage/index.ts'
import { createInAppServer } from './app-api.ts'
import { IN_APP_RATES, type Rates } from './rates.ts'

const UNKNOWN_ID = '0199e7c0-0000-7000-8000-000000000000'

async function start(t: Scope, rates: Rates = IN_APP_RATES) {
  const modules = await openModules(t)
  const tokens = createTokens({ vault: createVault(randomBytes(32)) })
  const purged: { environment: string; what: Purged }[] = []
  const purges = {
    problem: undefined as Error | undefined,
    async byApp({ id }: { id: string }, what: Purged) {
      if (purges.problem) throw purges.problem
      purged.push({ environment: id, what })
    },
  }
  const revalidations = createRevalidations(modules)
  const values = createFolderKv({ ...modules, folderOf: modules.folders.values })
  const server = createInAppServer({ ...modules, tokens, purges, revalidations, values, rates })
  t.after(() => server.close())
  const { urls, port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const [ours, theirs] = [await modules.environment(), await modules.environment()]

  async function call(
    method: string,
    url: string,
    token?: string,
    body?: string | Uint8Array,
    type = 'application/json',
  ) {
    const response = await fetch(url, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body: body as string }),
    })
    const text = await response.text()
    const reason = text.startsWith('{"error"') ? JSON.parse(text).error.details[0].reason : undefined
    return { status: response.status, text, reason, headers: response.headers }
  }
  const purgeUrl = (id: string) => `${urls.appsApi}/envs/${id}/edge/cache/tags:purge`
  const kv = (id: string) => tokens.of(id, 'kv-store')
  return {
    ...modules,
    ours,
    theirs,
    tokens,
    urls,
    port,
    purges,
    revalidations,
    purged,
    call,
    kv,
    purgeUrl,
    purge: (id: string, body: unknown, token = tokens.of(id, 'apps-api')) =>
      call('POST', purgeUrl(id), token, typeof body === 'string' ? body : JSON.stringify(body)),
    put: (id: string, key: string, body: string | Uint8Array, token = kv(id)) =>
      call('PUT', `${urls.kvStore}/${key}`, token, body),
    get: (id: string, key: string, token = kv(id)) => call('GET', `${urls.kvStore}/${key}`, token),
  }
}

test('tags are purged for the environment of the token, and paths both as paths and as tags', async (t) => {
  const { purge, purged, ours } = await start(t)
  const { status, text } = await purge(ours.id, { tags: ['post-1', '/blog', '/'] })
  assert.deepEqual({ status, text }, { status: 200, text: '{}' })
  await purge(ours.id, { tags: ['post-2'] })
  assert.deepEqual(purged, [
    { environment: ours.id, what: { paths: ['/blog', '/'], tags: ['post-1', '/blog', '/'] } },
    { environment: ours.id, what: { tags: ['post-2'] } },
  ])
})

test('every call without the right token gets the same answer', async (t) => {
  const { call, purgeUrl, tokens, urls, ours, theirs, kv, purged, sql, environments, environment } = await start(t)
  const gone = await environment()
  await sql.transaction((tx) => environments.remove(tx, gone.id))
  const leaving = await environment()
  await sql.transaction((tx) => environments.markDeleting(tx, leaving.id))
  const api = (id: string) => tokens.of(id, 'apps-api')
  const purges: [string, string | undefined][] = [
    [ours.id, undefined],
    [ours.id, ''],
    [ours.id, 'x'],
    [ours.id, api(theirs.id)],
    [ours.id, kv(ours.id)],
    [theirs.id, api(ours.id)],
    [UNKNOWN_ID, api(ours.id)],
    [UNKNOWN_ID, api(UNKNOWN_ID)],
    ['anything', api(ours.id)],
    [gone.id, api(gone.id)],
    [leaving.id, api(leaving.id)],
  ]
  const seen = new Set<string>()
  const see = ({ status, text, headers }: Awaited<ReturnType<typeof call>>) => {
    assert.equal(status, 401, text)
    seen.add(JSON.stringify([text, [...headers].filter(([name]) => name !== 'date')]))
  }
  for (const [id, token] of purges) see(await call('POST', purgeUrl(id), token, '{"tags":["a"]}'))
  for (const token of [undefined, 'x', api(ours.id), kv(UNKNOWN_ID), kv(gone.id), kv(leaving.id)]) {
    see(await call('GET', `${urls.kvStore}/a`, token))
    see(await call('PUT', `${urls.kvStore}/a`, token, '1'))
  }
  assert.equal(seen.size, 1, [...seen].join('\n'))
  assert.deepEqual(purged, [])
})

test('a body that is no list of tags is refused, and an empty list is nothing to do', async (t) => {
  const { purge, call, purgeUrl, tokens, ours } = await start(t)
  const many = Array.from({ length: LIMITS.purgeEntries + 1 }, () => 'a')
  const bad: unknown[] = ['', '{', 'null', '[]', '"a"', {}, { tags: 'a' }, { tags: [1] }, { tags: [''] }]
  for (const body of [...bad, { tags: ['a\n'] }, { tags: many }, { tags: ['a'.repeat(2049)] }, { tags: [], more: 1 }]) {
    const { status, reason } = await purge(ours.id, body)
    assert.equal(status, 400, JSON.stringify(body).slice(0, 50))
    assert.match(reason, /^(JSON_MALFORMED|FIELD_INVALID)$/)
  }
  const token = tokens.of(ours.id, 'apps-api')
  const bytes = Uint8Array.from([...Buffer.from('{"tags":["'), 0xff, ...Buffer.from('"]}')])
  assert.equal((await call('POST', purgeUrl(ours.id), token, bytes)).reason, 'JSON_MALFORMED')
  assert.equal((await call('POST', purgeUrl(ours.id), token, '{"tags":[]}', 'text/plain')).status, 415)
  assert.equal((await purge(ours.id, { tags: [] })).status, 200)
})

test('a purge that the edge does not confirm is an error that says when to retry', async (t) => {
  const { purge, purges, ours } = await start(t)
  purges.problem = new Problem('PURGE_NOT_CONFIRMED', undefined, { retryAfterSeconds: 5 })
  const { status, reason, headers } = await purge(ours.id, { tags: ['a'] })
  assert.deepEqual([status, reason, headers.get('retry-after')], [503, 'PURGE_NOT_CONFIRMED', '5'])
  purges.problem = new Error('something secret')
  const fault = await purge(ours.id, { tags: ['a'] })
  assert.equal(fault.reason, 'INTERNAL')
  assert.doesNotMatch(fault.text, /secret/)
})

test('a value is kept under exactly the key of the address, for its own environment', async (t) => {
  const { put, get, ours, theirs } = await start(t)
  const keys = ['.atlas/b1/next/index', '.atlas/b1/next/blog/%C3%A4%20b', 'a?b=1', 'a?b=2', '/a', 'a/', 'a%2Fb', 'a/b']
  for (const key of keys) assert.equal((await put(ours.id, key, JSON.stringify({ key }))).status, 204)
  for (const key of keys) {
    const { status, text, headers } = await get(ours.id, key)
    assert.deepEqual([status, JSON.parse(text)], [200, { key }])
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    const other = await get(theirs.id, key)
    assert.deepEqual([other.status, other.reason], [404, 'VALUE_NOT_FOUND'])
  }
})

test('a value has its limit, to the byte, and so has a key', async (t) => {
  const { put, get, ours } = await start(t)
  const largest = `"${'x'.repeat(LIMITS.valueBytes - 2)}"`
  assert.equal((await put(ours.id, 'a', largest)).status, 204)
  assert.ok((await get(ours.id, 'a')).text === largest)
  assert.equal((await put(ours.id, 'k'.repeat(LIMITS.valueKeyLength), '1')).status, 204)
  assert.equal((await put(ours.id, 'k'.repeat(LIMITS.valueKeyLength + 1), '1')).reason, 'FIELD_INVALID')
  assert.equal((await put(ours.id, '', '1')).reason, 'FIELD_INVALID')
  for (const [body, reason] of [
    ['', 'JSON_MALFORMED'],
    [Uint8Array.from([0xff]), 'JSON_MALFORMED'],
  ] as const) {
    assert.equal((await put(ours.id, 'a', body)).reason, reason)
  }
  assert.ok((await get(ours.id, 'a')).text === largest)
})

/** The answer to bytes that no client library would send. */
function talk(port: number, ...pieces: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
    ;(async () => {
      for (const piece of pieces) {
        socket.write(piece)
        await wait(20)
      }
    })()
    setTimeout(() => socket.destroy(), TIMEOUT_MS).unref()
  })
}

test('a body that is too long is refused, with or without a Content-Length', async (t) => {
  const { port, kv, ours, get } = await start(t)
  const head = `PUT /kv/v1/a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${kv(ours.id)}\r\ncontent-type: application/json\r\n`
  assert.match(
    await talk(port, `${head}content-length: ${LIMITS.valueBytes + 1}\r\n\r\n`),
    /^HTTP\/1\.1 413 [\s\S]*"limit":"2097152"/,
  )
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  const answer = await talk(port, `${head}transfer-encoding: chunked\r\n\r\n`, chunk, chunk, '1\r\nx\r\n')
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.equal((await get(ours.id, 'a')).status, 404)
})

test('a body that breaks off leaves no value', async (t) => {
  const { port, kv, ours, get, put } = await start(t)
  await put(ours.id, 'a', '"old"')
  const head = `PUT /kv/v1/a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${kv(ours.id)}\r\ncontent-type: application/json\r\n`
  const socket = connect({ host: '127.0.0.1', port })
  socket.write(`${head}content-length: 1000\r\n\r\n"half`)
  await wait(50)
  socket.destroy()
  await wait(50)
  assert.equal((await get(ours.id, 'a')).text, '"old"')
})

test('two lengths, two requests in one and strange targets are all refused', async (t) => {
  const { port, kv, ours } = await start(t)
  const auth = `host: x\r\nauthorization: Bearer ${kv(ours.id)}\r\n`
  for (const target of ['/v1/accounts', '/healthz', '/metrics', '*', 'http://x/kv/v1/a', '/kv/v1', '/', '//kv/v1/a']) {
    assert.match(
      await talk(port, `GET ${target} HTTP/1.1\r\n${auth}connection: close\r\n\r\n`),
      /^HTTP\/1\.1 (404|400) /,
      target,
    )
  }
  const both = `PUT /kv/v1/a HTTP/1.1\r\n${auth}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`
  assert.match(await talk(port, both), /^HTTP\/1\.1 400 /)
  assert.match(await talk(port, `GET /kv/v1/a b HTTP/1.1\r\n${auth}\r\n`), /^HTTP\/1\.1 400 /)
  // The second request in the packet of an unknown caller is not answered.
  const refused = await talk(port, `GET /kv/v1/a HTTP/1.1\r\nhost: x\r\n\r\nGET /kv/v1/a HTTP/1.1\r\n${auth}\r\n`)
  assert.equal(refused.match(/HTTP\/1\.1 /g)?.length, 1)
  assert.match(refused, /^HTTP\/1\.1 401 /)
})

test('the answer to another method names the allowed ones', async (t) => {
  const { call, urls, kv, ours, purgeUrl } = await start(t)
  const value = await call('DELETE', `${urls.kvStore}/a`, kv(ours.id))
  assert.deepEqual([value.status, value.headers.get('allow')], [405, 'GET, PUT'])
  const purge = await call('GET', purgeUrl(ours.id))
  assert.deepEqual([purge.status, purge.headers.get('allow')], [405, 'POST'])
})

const SMALL: Rates = {
  calls: { 'apps-api': { atOnce: 3, perSecond: 1 }, 'kv-store': { atOnce: 100, perSecond: 1 } },
  bytes: { 'apps-api': { atOnce: 10_000, perSecond: 1000 }, 'kv-store': { atOnce: 100_000, perSecond: 10_000 } },
  heldBytes: { environment: 20_000, account: 30_000, all: 30_000 },
  accountShare: 4,
}

test('an environment that calls too often gets a Retry-After, and others do not wait', async (t) => {
  const { purge, purged, ours, theirs, clock } = await start(t, SMALL)
  for (let times = 0; times < 3; times++) assert.equal((await purge(ours.id, { tags: ['a'] })).status, 200)
  const { status, reason, headers } = await purge(ours.id, { tags: ['a'] })
  assert.deepEqual([status, reason, headers.get('retry-after')], [429, 'TOO_MANY_CALLS', '1'])
  assert.equal((await purge(theirs.id, { tags: ['a'] })).status, 200)
  await clock.advance(1000)
  assert.equal((await purge(ours.id, { tags: ['a'] })).status, 200)
  assert.equal(purged.length, 5)
})

test('calls of an unknown caller are not counted against the environment that they name', async (t) => {
  const { purge, ours, theirs, tokens } = await start(t, SMALL)
  for (let times = 0; times < 10; times++) {
    assert.equal((await purge(ours.id, { tags: ['a'] }, tokens.of(theirs.id, 'apps-api'))).status, 401)
  }
  assert.equal((await purge(ours.id, { tags: ['a'] })).status, 200)
})

test('bytes are counted, those that come and those that go', async (t) => {
  const { put, get, ours, theirs, clock } = await start(t, SMALL)
  const body = `"${'x'.repeat(12_000)}"`
  for (let times = 0; times < 8; times++) assert.equal((await put(ours.id, 'a', body)).status, 204)
  const { status, headers } = await get(ours.id, 'a')
  assert.equal(status, 429)
  assert.ok(Number(headers.get('retry-after')) >= 1)
  assert.equal((await put(theirs.id, 'a', body)).status, 204)
  await clock.advance(5000)
  assert.ok((await get(ours.id, 'a')).text === body)
})

test('what is under way is bounded, for each environment and for all, and free again when it is over', async (t) => {
  const { port, put, kv, ours, theirs } = await start(t, SMALL)
  const slow = (id: string) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.write(
      `PUT /kv/v1/slow HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${kv(id)}\r\ncontent-type: application/json\r\ncontent-length: 15000\r\n\r\n"`,
    )
    socket.on('error', () => undefined)
    return socket
  }
  const first = slow(ours.id)
  const held = async (id: string) => (await put(id, 'b', `"${'x'.repeat(8000)}"`)).status
  await until(async () => (await held(ours.id)) === 429)
  assert.equal(await held(theirs.id), 204)
  const second = slow(theirs.id)
  await until(async () => (await put(theirs.id, 'c', '"small"')).status === 429)
  first.destroy()
  second.destroy()
  await until(async () => (await put(ours.id, 'c', '"small"')).status === 204)
})

test('an app reads what was revalidated in its environment, and in no other', async (t) => {
  const { ours, theirs, sql, revalidations, tokens, urls, call } = await start(t)
  await sql.transaction((tx) => revalidations.note(tx, ours.id, { posts: 1000 }))
  const urlOf = (id: string) => `${urls.appsApi}/envs/${id}/revalidations`
  const answer = await call('GET', urlOf(ours.id), tokens.of(ours.id, 'apps-api'))
  assert.deepEqual(JSON.parse(answer.text), { everything: 0, tags: { posts: 1000 } })
  assert.equal((await call('GET', urlOf(theirs.id), tokens.of(ours.id, 'apps-api'))).reason, 'TOKEN_WRONG')
  assert.equal((await call('GET', urlOf(ours.id), tokens.of(ours.id, 'kv-store'))).reason, 'TOKEN_WRONG')
  assert.equal((await call('POST', urlOf(ours.id), tokens.of(ours.id, 'apps-api'))).reason, 'METHOD_NOT_ALLOWED')
})

test('an app that reads what was revalidated again and again is refused, as one that reads values is', async (t) => {
  const few = { atOnce: 100, perSecond: 1 }
  const { ours, sql, revalidations, tokens, urls, call } = await start(t, {
    ...IN_APP_RATES,
    bytes: { 'apps-api': few, 'kv-store': few },
  })
  await sql.transaction((tx) => revalidations.note(tx, ours.id, { ['x'.repeat(40)]: 1000 }))
  const read = () => call('GET', `${urls.appsApi}/envs/${ours.id}/revalidations`, tokens.of(ours.id, 'apps-api'))
  assert.equal((await read()).status, 200)
  assert.equal((await read()).status, 429)
})
