/** What the client sends and what it makes of answers, without a network: its `fetch` is a function of the test. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, ENVIRONMENT, type Fetch, HeadlandError, pathOf } from './public.ts'

const path = { account: 'a', app: 'b', environment: 'c' }

/** A client, and the requests that it made. */
function clientWith(answer: (...call: Parameters<Fetch>) => Response | Promise<Response>, more = {}) {
  const sent: { url: string; method: string; headers: Record<string, string>; body: unknown }[] = []
  const fetch: Fetch = async (url, init) => {
    const { method = '', headers, body } = init
    sent.push({ url, method, headers: headers as Record<string, string>, body })
    return answer(url, init)
  }
  return { sent, client: createClient({ url: 'https://h.test/', fetch, ...more }) }
}

const json = (value: unknown, init: ResponseInit = {}) => new Response(JSON.stringify(value), init)

test('parameters go into the path and the query, each as one part of it', async () => {
  const { client, sent } = clientWith(() => json({}))
  await client.call(`GET ${ENVIRONMENT}:trace`, { path: { ...path, app: 'x/../y?z' }, query: { url: '/a b&c' } })
  assert.equal(sent[0]?.url, 'https://h.test/v1/accounts/a/apps/x%2F..%2Fy%3Fz/environments/c:trace?url=%2Fa+b%26c')
  for (const wrong of ['', '.', '..', '\ud800']) {
    const asked = client.call(`GET ${ENVIRONMENT}`, { path: { ...path, app: wrong } })
    await assert.rejects(asked, { message: `'${wrong}' cannot be the app in an address` })
  }
  assert.equal(sent.length, 1)
})

test('credentials are sent as they are, whatever is in them', async () => {
  const { client, sent } = clientWith(() => json({}), { authorization: { userId: 'ü', password: 'p:ß' } })
  await client.call('GET /v1/accounts')
  assert.equal(sent[0]?.headers.authorization, `Basic ${Buffer.from('ü:p:ß').toString('base64')}`)
  const session = clientWith(() => json({}), { authorization: { cookie: 'headland_session=x' } })
  await session.client.call('GET /v1/accounts')
  assert.equal(session.sent[0]?.headers.cookie, 'headland_session=x')
})

test('a reply is JSON, a text or nothing, as its route says', async () => {
  const { client } = clientWith(() => json({ accounts: [] }))
  assert.deepEqual(await client.call('GET /v1/accounts'), { accounts: [] })
  const text = clientWith(() => new Response('1 line\n'))
  assert.equal(await text.client.call(`GET ${ENVIRONMENT}/logs`, { path }), '1 line\n')
  const nothing = clientWith(() => new Response(null))
  const body = { region: 'regions/UK', uploadable: {} } as const
  const made = await nothing.client.call('POST /v1/accounts/{account}/apps', { path, query: { appId: 'x' }, body })
  assert.equal(made, undefined)
  const page = clientWith(() => new Response('<html>'))
  await assert.rejects(page.client.call('GET /v1/accounts'), { reason: 'NO_ANSWER', status: 0 })
})

test('a refusal is an error with its reason and its details; that of another server has its status', async () => {
  const details = [{ reason: 'QUOTA_EXCEEDED', metadata: { limit: '3' } }, null, 'x']
  const error = { code: 503, status: 'UNAVAILABLE', message: 'Full.', details }
  const { client } = clientWith(() => json({ error }, { status: 503, headers: { 'retry-after': '7' } }))
  await assert.rejects(client.call('GET /v1/accounts'), (failed) => {
    assert.ok(failed instanceof HeadlandError)
    const { status, reason, code, message, retryAfterSeconds } = failed
    assert.deepEqual(
      [status, reason, code, message, retryAfterSeconds],
      [503, 'QUOTA_EXCEEDED', 'UNAVAILABLE', 'Full.', 7],
    )
    assert.deepEqual(failed.details, [details[0]])
    return true
  })
  const other = clientWith(() => new Response('Bad gateway', { status: 502 }))
  await assert.rejects(other.client.call('GET /v1/accounts'), { status: 502, reason: 'HTTP_502' })
  const moved = clientWith(() => new Response(null, { status: 301, headers: { location: 'https://n.test' } }))
  await assert.rejects(moved.client.call('GET /v1/accounts'), /redirects to https:\/\/n\.test/)
})

const never: Fetch = (_, { signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

test('a call ends when its time is over, and with the reason of its signal', async () => {
  const { client } = clientWith(never, { timeoutMs: 10 })
  await assert.rejects(client.call('GET /v1/accounts'), /was not reached: no answer within 0\.01 s/)
  const stop = new AbortController()
  const { client: patient } = clientWith(never)
  const asked = patient.call('GET /v1/accounts', { signal: stop.signal })
  stop.abort(new Error('enough'))
  await assert.rejects(asked, /^Error: enough$/)
})

test('a list asks for its next page only when it is used so far', async () => {
  const { client, sent } = clientWith((url) =>
    json({
      builds: [{ name: url.includes('pageToken=2') ? 'b' : 'a' }],
      nextPageToken: url.includes('pageToken=2') ? '' : '2',
    }),
  )
  const names: string[] = []
  for await (const { name } of client.list(`GET ${ENVIRONMENT}/builds`, { path, query: { pageSize: 1 } })) {
    names.push(name)
    assert.equal(sent.length, names.length)
  }
  assert.deepEqual(names, ['a', 'b'])
  assert.match(sent[1]?.url ?? '', /pageSize=1&pageToken=2$/)
})

test('the name of a resource is taken apart, and no other text is', () => {
  const parts = { account: 'a', app: 'b', environment: 'c', build: 'd' }
  assert.deepEqual(pathOf('accounts/a/apps/b/environments/c/builds/d'), parts)
  for (const wrong of [
    '',
    'accounts/a',
    'accounts/a/apps/b/environments/..',
    'x/a/apps/b/environments/c',
    'accounts/a/apps/b/environments/c/__proto__/d',
  ]) {
    assert.throws(() => pathOf(wrong), TypeError, wrong)
  }
})
