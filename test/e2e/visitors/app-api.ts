/**
 * Apps that call the service from inside: to purge their pages and to store values. A real service, real apps, their
 * sandbox.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { appAt, CALLER } from '../../support/service/app-calls.ts'
import { deploy, type Files, reasonOf, upload } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

const as = await service.login()
const [one, other] = [await createEnvironment(service, as), await createEnvironment(service, as)]
for (const { name } of [one, other]) {
  const { error } = await deploy(service, as, name, CALLER)
  assert.equal(error, undefined, JSON.stringify(error))
}
const [ours, theirs] = [await appAt(service, one.url), await appAt(service, other.url)]
const { json: isolation } = await service.call('/v1/isolation', { as })
const hasNetworks = !/^that of the machine/.test(isolation.network)

test('an app purges its pages with what it finds in its variables', async () => {
  const { status, text } = await ours.purge(['post-1', '/blog'])
  assert.deepEqual([status, text], [200, '{}'])
})

test('an app keeps values and finds them again', async () => {
  assert.equal((await ours.get('.atlas/build/next/index')).status, 404)
  assert.equal((await ours.put('.atlas/build/next/index', { body: '{"lastModified":1}' })).status, 204)
  const { status, text } = await ours.get('.atlas/build/next/index')
  assert.deepEqual([status, text], [200, '{"lastModified":1}'])
  assert.equal((await theirs.get('.atlas/build/next/index')).status, 404)
})

test("an app gets nowhere without a token, or with another environment's", async () => {
  const token = theirs.variables.HEADLESS_APPS_API_TOKEN
  const refused = [
    await ours.purge(['a'], { token: '' }),
    await ours.purge(['a'], { token }),
    await ours.purge(['a'], { of: theirs.id }),
    await ours.purge(['a'], { of: '0199e7c0-0000-7000-8000-000000000000' }),
    await ours.get('a', ''),
    await ours.get('a', token),
    await ours.put('a', { body: '1' }, 'x'),
  ]
  assert.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 401),
  )
  assert.equal(new Set(refused.map(({ text }) => text)).size, 1)
})

test('the listener for apps has nothing of the public API, and the public API nothing of it', async () => {
  const { origin } = new URL(ours.variables.HEADLESS_KV_STORE_URL)
  for (const path of ['/v1/accounts', '/healthz', '/metrics', '/openapi.json', '/']) {
    assert.equal((await ours.call({ url: `${origin}${path}` })).status, 404, path)
  }
  assert.equal((await service.call('/kv/v1/a')).status, 404)
  if (hasNetworks) assert.equal((await ours.call({ url: `${service.api}/healthz` })).status, 'ECONNREFUSED')
})

test('a value that is too long is refused, and others are evicted when the store is full', async () => {
  const refused = await ours.put('long', { length: 2 * 1024 * 1024 })
  assert.equal(refused.status, 413, JSON.stringify(refused))
  assert.equal((await ours.put('first', { length: 2_000_000 })).status, 204)
  let status: number | string = 204
  for (let number = 0; number < 33 && status === 204; number++) {
    status = await withRetries(async () => (await ours.put(`key-${number}`, { length: 2_000_000 })).status)
  }
  assert.equal(status, 204)
  assert.equal(await withRetries(async () => (await ours.get('first')).status), 404)
  assert.equal(await withRetries(async () => (await ours.get('key-32')).bytes), 2_000_002)
})

/** Tries again after a refusal for too many calls. */
const withRetries = (call: () => Promise<number | string>) =>
  until(async () => {
    const got = await call()
    return got !== 429 && got
  })

test('values count towards the quota of the account, and a store that is full of its own values keeps working', async (t) => {
  const max = 3_000_000
  const small = await startService(t, { settings: { HEADLAND_ACCOUNT_BYTES: String(max) } })
  const owner = await small.login()
  const places = [await createEnvironment(small, owner), await createEnvironment(small, owner)] as const
  for (const { name } of places) assert.equal((await deploy(small, owner, name, CALLER)).error, undefined)
  const [writer, late] = [await appAt(small, places[0].url), await appAt(small, places[1].url)]
  for (let number = 0; number < 10; number++)
    assert.equal((await writer.put(`key-${number}`, { length: 500_000 })).status, 204)
  assert.equal((await writer.get('key-0')).status, 404, 'it was evicted for a newer one')
  assert.equal((await writer.get('key-9')).bytes, 500_002)
  const refused = await late.put('first', { length: 600_000 })
  assert.deepEqual([refused.status, /QUOTA_EXCEEDED/.test(refused.text)], [413, true], JSON.stringify(refused))
  const kept = await readdir(join(small.dataDir, 'environments', writer.id, 'values'))
  assert.ok(kept.length >= 4 && kept.length <= 5, `${kept.length} values of 500,000 bytes beside what else there is`)
  const uploaded = await upload(small, owner, places[1].name, { ...CALLER, 'noise.bin': randomBytes(600_000) })
  assert.deepEqual([uploaded.status, uploaded.reason], [413, 'QUOTA_EXCEEDED'])
})

test('tokens are in no log', async () => {
  const [{ text: runtime }, { json }] = [
    await service.call(`/v1/${one.name}/logs`, { as }),
    await service.call(`/v1/${one.name}/builds`, { as }),
  ]
  const { text: build } = await service.call(`/v1/${json.builds[0].name}/log`, { as })
  const { HEADLESS_APPS_API_TOKEN: api, HEADLESS_KV_STORE_TOKEN: kv } = ours.variables
  for (const text of [runtime, build, service.log()]) assert.ok(!text.includes(api) && !text.includes(kv))
  for (const text of [runtime, build]) assert.match(text, /these are \[secret\] \[secret\]/)
  assert.match(runtime, new RegExp(`started for ${ours.id}`))
})

test('a build does not reach the service, and gets no address or token of it', { skip: !hasNetworks }, async () => {
  const { hostname: host, port } = new URL(ours.variables.HEADLESS_KV_STORE_URL)
  const { name } = await createEnvironment(service, as)
  const files: Files = {
    'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
    'build.js': `
      const names = Object.keys(process.env).filter((name) => /HEADLESS_(APPS_API|KV_STORE)/.test(name))
      require('node:net').connect(${port}, '${host}')
        .on('connect', () => { console.log('reached'); process.exit() })
        .on('error', ({ code }) => { console.log('found', code, 'variables', names.length); write() })
      const write = () => { require('node:fs').mkdirSync('dist'); require('node:fs').writeFileSync('dist/index.html', 'x') }`,
  }
  const done = await deploy(service, as, name, files)
  assert.equal(reasonOf(done), undefined, JSON.stringify(done.error))
  const { text } = await service.call(`/v1/${done.metadata.build}/log`, { as })
  assert.match(text, /found ECONNREFUSED variables 0/)
})

const clear = (name: string, body?: unknown) =>
  service.call(`/v1/${name}:clearCache`, { method: 'POST', as, ...(body === undefined ? {} : { body }) })

test('the response to clearCache is an operation that is done', async () => {
  for (const body of [undefined, {}, { paths: ['/a', '/b?c'] }, { tags: ['t'] }, { paths: ['/a'], tags: ['t'] }]) {
    const { status, json } = await clear(one.name, body)
    assert.equal(status, 200)
    assert.deepEqual([json.done, json.metadata.phase, json.metadata.trigger], [true, 'DONE', 'PURGE_CACHE'])
    assert.equal(json.response.name, one.name)
    const read = (await service.call(`/v1/${json.name}`, { as })).json
    const { triggers, triggerCount, ...metadata } = read.metadata
    assert.deepEqual({ ...read, metadata }, json)
    assert.deepEqual([triggers.length, triggerCount], [1, 1])
  }
})

test('clearing the cache does not wait for a build', async () => {
  const build: Files = {
    'package.json': JSON.stringify({ scripts: { build: 'sleep 60' } }),
    'index.html': 'x',
  }
  const { name } = await createEnvironment(service, as)
  const asked = await upload(service, as, name, build)
  const { json } = await clear(name)
  assert.equal(json.done, true)
  assert.equal(json.response.reconciling, true)
  assert.equal((await service.call(`/v1/${asked.json.name}`, { as })).json.done, false)
  await service.call(`/v1/${asked.json.name}:cancel`, { method: 'POST', as })
})

test('an invalid purge is refused, with the field', async () => {
  const many = Array.from({ length: 501 }, (_, number) => `/${number}`)
  const bad = [{ paths: ['a'] }, { paths: [''] }, { paths: '/' }, { tags: [1] }, { tags: [''] }, { all: true }]
  for (const body of [
    ...bad,
    { paths: [] },
    { paths: [], tags: [] },
    { paths: many, tags: many },
    { tags: ['x\u0000'] },
  ]) {
    const { status, reason } = await clear(one.name, body)
    assert.deepEqual([status, reason], [400, 'FIELD_INVALID'], JSON.stringify(body).slice(0, 60))
  }
  assert.equal((await clear(one.name, { paths: many, tags: many.slice(2) })).status, 200)
})

test('a purge is acknowledged while the edge is stopped, which then uses nothing that it had stored', async () => {
  const pid = service.edgePid()
  process.kill(pid, 'SIGSTOP')
  try {
    assert.equal((await clear(one.name)).status, 200)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
})

test('a purge that an edge was sent when it crashed is acknowledged', async () => {
  const pid = service.edgePid()
  process.kill(pid, 'SIGSTOP')
  const waiting = clear(one.name)
  process.kill(pid, 'SIGKILL')
  assert.equal((await waiting).status, 200)
})

test('with an environment its values are deleted, and its tokens become invalid', async () => {
  const { name, url } = await createEnvironment(service, as)
  await deploy(service, as, name, CALLER)
  const { variables, put, id } = await appAt(service, url)
  assert.equal((await put('a', { body: '1' })).status, 204)
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  await service.call(`/v1/${asked.json.name}:wait`, { method: 'POST', as })
  assert.equal((await ours.get('a', variables.HEADLESS_KV_STORE_TOKEN)).status, 401)
  assert.equal((await ours.purge(['a'], { token: variables.HEADLESS_APPS_API_TOKEN, of: id })).status, 401)
  assert.ok(!(await readdir(join(service.dataDir, 'environments'))).includes(id))
})
