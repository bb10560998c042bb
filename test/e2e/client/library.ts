/** The client of the API on a real service. */
import assert from 'node:assert/strict'
import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { createClient, ENVIRONMENT, HeadlandError, type LogLine } from '../../../src/client/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { nodeServer } from '../../support/service/deploy.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { TIMEOUT_MS } from '../../support/until.ts'
import { zipOf } from '../../support/zip.ts'
import { as, clientAs, environment, first, path, service } from './service.ts'

const client = clientAs(as)
const folder = await temporaryFolder({ after })

test('a route is called by its name, and its answer has the type of the route', async () => {
  const found = await client.call(`GET ${ENVIRONMENT}`, { path })
  assert.deepEqual([found.name, found.state, found.displayName], [environment.name, 'LIVE', 'Production'])
  // Both are types of one schema.
  found satisfies typeof environment
})

test('a refusal has its reason, its status, and the fields that are wrong', async () => {
  const wrong = {
    path: { account: 'default' },
    query: { appId: '!' },
    body: { region: 'regions/UK', uploadable: {} },
  } as const
  await assert.rejects(client.call('POST /v1/accounts/{account}/apps', wrong), (error) => {
    assert.ok(error instanceof HeadlandError)
    assert.deepEqual([error.status, error.reason, error.code], [400, 'FIELD_INVALID', 'INVALID_ARGUMENT'])
    assert.match(JSON.stringify(error.details), /appId/)
    return true
  })
  const anonymous = createClient({ url: service.api })
  await assert.rejects(anonymous.call('GET /v1/accounts'), { reason: 'CREDENTIALS_REQUIRED', status: 401 })
})

test('a list is read page by page, and only as far as it is used', async () => {
  const names: string[] = []
  for await (const { name } of client.list('GET /v1/regions')) names.push(name)
  assert.equal(names.length, 4)
  const { items, hasMore } = await client.first(`GET ${ENVIRONMENT}/operations`, { path, limit: 1 })
  assert.deepEqual([items.length, hasMore], [1, true])
  const all: string[] = []
  for await (const { name } of client.list(`GET ${ENVIRONMENT}/operations`, { path, query: { pageSize: 1 } }))
    all.push(name)
  assert.ok(all.length >= 2 && new Set(all).size === all.length)
})

test('a name in a path cannot lead to another one', async () => {
  const elsewhere = { account: 'default', app: '../../default/credentials', environment: '?x' }
  await assert.rejects(client.call(`GET ${ENVIRONMENT}`, { path: elsewhere }), { status: 400, reason: 'FIELD_INVALID' })
  await assert.rejects(client.call(`GET ${ENVIRONMENT}`, { path: { ...path, app: '..' } }), /cannot be the app/)
})

for (const [kind, zip] of [
  ['a file', async (file: string) => openAsBlob(file)],
  [
    'a stream of unknown length',
    async (file: string) => Readable.toWeb((await import('node:fs')).createReadStream(file)),
  ],
] as const) {
  test(`an archive is sent from ${kind}, and its operation is waited for`, async () => {
    const file = join(folder, 'app.zip')
    await writeFile(file, zipOf(nodeServer(kind)))
    const plan = await client.plan({ path, zip: (await zip(file)) as Blob })
    assert.equal(typeof plan.plan, 'object')
    const phases = new Set<string>()
    const asked = await client.upload({ path, query: { message: kind }, zip: (await zip(file)) as Blob })
    const done = await client.waitForOperation(asked, { onState: ({ metadata }) => phases.add(metadata.phase) })
    assert.equal(done.done, true)
    assert.ok(phases.size > 0)
    assert.equal((await siteAnswer(service, environment.url)).text, kind)
  })
}

test('an operation that fails is thrown with its reason', async () => {
  const failing = { 'package.json': JSON.stringify({ scripts: { build: 'exit 3', start: 'node x' } }) }
  const asked = await client.upload({ path, zip: new Blob([new Uint8Array(zipOf(failing))]) })
  await assert.rejects(client.waitForOperation(asked), { name: 'HeadlandError', reason: 'BUILD_SCRIPT_FAILED' })
})

test('the log of a build is followed to its end, and can be resumed at any line', async () => {
  const build = { ...path, build: first.metadata.build.slice(first.metadata.build.lastIndexOf('/') + 1) }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const route = `GET ${ENVIRONMENT}/builds/{build}/log` as const
  const all: LogLine[] = []
  for await (const line of client.follow(route, { path: build, signal })) all.push(line)
  assert.ok(all.length > 3)
  const rest: LogLine[] = []
  for await (const line of client.follow(route, { path: build, after: 2, signal })) rest.push(line)
  assert.deepEqual(rest, all.slice(2))
  const read: LogLine[] = []
  for await (const line of client.readLog(route, { path: build })) read.push(line)
  assert.deepEqual(read, all)
  assert.equal(await client.lastLine(route, { path: build }), all.length)
})

test('requests of visitors are followed as they come', async () => {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(TIMEOUT_MS)])
  const asking = setInterval(() => siteAnswer(service, environment.url, '/followed').catch(() => undefined), 200)
  try {
    for await (const request of client.follow(`GET ${ENVIRONMENT}/requests`, { path, signal })) {
      if (request.path === '/followed') break
    }
  } finally {
    clearInterval(asking)
    stop.abort()
  }
})
