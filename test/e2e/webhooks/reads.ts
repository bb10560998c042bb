/** What a webhook's token may read: the results of calls of its own URL, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import type { ApiResponse } from '../../support/service/service.ts'
import { createWebhooks, hook, targetOf, tokenOf, urlsOf } from '../../support/service/webhooks.ts'
import { PUBLIC_URL, service } from './public.ts'

const SECRET = `value-of-a-variable-${process.pid}`
const LONG = { quietSeconds: 300, maxQuietSeconds: 3600 }

const as = await service.login()

const idOf = (name: string): string => name.split('/').at(-1) ?? ''

/** The path under the webhook's own URL. */
function addressOf(url: string, operation: string): string {
  const [path = '', query = ''] = targetOf(url).split('?')
  return `${path}/operations/${idOf(operation)}?${query}`
}

const readWith = (url: string, operation: string): Promise<ApiResponse> => service.call(addressOf(url, operation))

async function readState(url: string, operation: string): Promise<resources.WebhookOperation> {
  const { status, text, json } = await readWith(url, operation)
  assert.equal(status, 200, text)
  return json
}

async function site(quiet?: resources.ChangedWebhookSet) {
  const shellVariables = [{ key: 'API_KEY', value: SECRET }]
  const body = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms', shellVariables }
  const { name, url } = await createEnvironment(service, as, { body })
  await deploy(service, as, name, page('the site'))
  return { name, url, urls: await createWebhooks(service, as, name, quiet) }
}

let marks = 0

/** An environment whose builds run until they are released. The first one is live. */
async function heldSite() {
  const mark = `read-${process.pid}-${++marks}`
  const { name, url } = await createEnvironment(service, as)
  const first = await upload(service, as, name, heldBuild(mark, 'held'))
  await (await untilHeld(mark)).goOn()
  await untilDone(service, as, first.json.name)
  return { name, url, urls: await createWebhooks(service, as, name), nextBuild: () => untilHeld(mark) }
}

test('a call is followed from waiting through building to live, with the page of the build and the site', async () => {
  const { name, url, urls, nextBuild } = await heldSite()
  const [, , , app = '', , environment = ''] = name.split('/')
  await service.call(`/v1/${name}/webhooks`, { method: 'PATCH', as, body: LONG })
  const { name: operation }: resources.WebhookAnswer = (await hook(service, urls.rebuild)).json
  const waiting = await readState(urls.rebuild, operation)
  assert.deepEqual([waiting.state, waiting.phase, waiting.done], ['WAITING', 'QUEUED', false])
  assert.ok(Date.parse(waiting.waitingUntil ?? '') > Date.parse(waiting.createTime))
  await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  const build = await nextBuild()
  const building = await readState(urls.rebuild, operation)
  assert.deepEqual([building.state, building.waitingUntil], ['BUILDING', undefined])
  await build.goOn()
  const { metadata } = await untilDone(service, as, operation)
  assert.deepEqual(await readState(urls.rebuild, operation), {
    name: operation,
    state: 'LIVE',
    phase: 'DONE',
    done: true,
    buildUrl: `${PUBLIC_URL}/default/apps/${app}/environments/${environment}/builds/${idOf(metadata.build)}`,
    siteUrl: url,
    createTime: metadata.createTime,
  })
})

test('a failure has its reason and the fixed message for it, and no output of the build', async () => {
  const { name, urls } = await site()
  const files = {
    'package.json': JSON.stringify({ name: 'x', scripts: { build: 'node build.js' } }),
    'build.js': `console.error('Error: written-by-the-build'); process.exit(1)`,
  }
  await deploy(service, as, name, files)
  const { name: operation } = (await hook(service, urls.rebuild)).json
  const ended = await untilDone(service, as, operation)
  assert.ok(ended.error)
  const { status, text, json } = await readWith(urls.rebuild, operation)
  assert.deepEqual([status, json.state, json.done, json.reason], [200, 'FAILED', true, ended.error?.details[0]?.reason])
  assert.ok(json.message.length > 10)
  assert.doesNotMatch(text, new RegExp(`written-by-the-build|${SECRET}|API_KEY|token`))
})

test('if another operation replaced it, and another one that, the last is followed', async () => {
  const { name, urls, nextBuild } = await heldSite()
  const running = (await hook(service, urls.rebuild)).json.name
  const held = await nextBuild()
  const { name: operation } = (await hook(service, urls.rebuild)).json
  assert.notEqual(operation, running, 'a waiting one behind the running one')
  const mark = `read-${process.pid}-${++marks}`
  for (const text of ['first', 'second', 'third']) await upload(service, as, name, heldBuild(mark, text))
  const following = await readState(urls.rebuild, operation)
  assert.deepEqual([following.state, following.name === operation], ['WAITING', false])
  await held.goOn()
  await (await untilHeld(mark)).goOn()
  await untilDone(service, as, following.name)
  assert.equal((await readState(urls.rebuild, operation)).state, 'LIVE')
})

test('a cancelled call reads as cancelled, and a purge as purged', async () => {
  const { urls } = await site(LONG)
  const rebuilt = (await hook(service, urls.rebuild)).json
  await service.call(`/v1/${rebuilt.name}:cancel`, { method: 'POST', as, body: {} })
  assert.equal((await readState(urls.rebuild, rebuilt.name)).state, 'CANCELLED')
  const purged = (await hook(service, urls.purgeCache)).json
  const { state, done, buildUrl } = await readState(urls.purgeCache, purged.name)
  assert.deepEqual([state, done, buildUrl], ['PURGED', true, ''])
})

test('a token reads no operation that its own URL did not request', async () => {
  const [mine, other] = [await site(LONG), await site(LONG)]
  const called = (await hook(service, mine.urls.rebuild)).json.name
  const elsewhere = (await hook(service, other.urls.rebuild)).json.name
  const purged = (await hook(service, mine.urls.purgeCache)).json.name
  const byApi = (await service.call(`/v1/${mine.name}:clearCache`, { method: 'POST', as, body: {} })).json.name
  const { operations } = (await service.call(`/v1/${mine.name}/operations`, { as })).json
  const created = operations.find(({ metadata }: resources.Operation) => metadata.trigger === 'CREATE').name
  for (const [url, operation] of [
    [mine.urls.rebuild, elsewhere],
    [mine.urls.rebuild, purged],
    [mine.urls.purgeCache, called],
    [mine.urls.cleanRebuild, called],
    [mine.urls.purgeCache, byApi],
    [mine.urls.rebuild, created],
    [mine.urls.rebuild, `x/01900000-0000-7000-8000-000000000000`],
  ] as const) {
    const { status, json } = await readWith(url, operation)
    assert.deepEqual([status, json.error?.details[0]?.reason], [404, 'OPERATION_NOT_FOUND'], `${url} ${operation}`)
    assert.doesNotMatch(JSON.stringify(json), /site|build/i)
  }
  for (const url of [other.urls.rebuild, mine.urls.cleanRebuild, mine.urls.purgeCache]) {
    const borrowed = mine.urls.rebuild.replace(tokenOf(mine.urls.rebuild), tokenOf(url))
    const { status, json } = await readWith(borrowed, called)
    assert.deepEqual([status, json.error?.details[0]?.reason], [401, 'WEBHOOK_REFUSED'])
  }
  assert.equal((await readWith(mine.urls.rebuild, called)).status, 200)
})

test('a token that was regenerated or deleted reads nothing, and a new one reads no earlier operation', async () => {
  const { name, urls } = await site(LONG)
  const { name: operation } = (await hook(service, urls.rebuild)).json
  const regenerated = await service.call(`/v1/${name}/webhooks:regenerate`, { method: 'POST', as, body: {} })
  assert.equal((await readWith(urls.rebuild, operation)).status, 401)
  const fresh = urlsOf(regenerated.json)
  assert.equal((await readWith(fresh.rebuild, operation)).status, 404)
  const again = (await hook(service, fresh.rebuild)).json.name
  assert.equal((await readWith(fresh.rebuild, again)).status, 200)
  await service.call(`/v1/${name}/webhooks`, { method: 'DELETE', as })
  assert.equal((await readWith(fresh.rebuild, again)).status, 401)
})

test('whatever is wrong with the path or the token, the response is the same, and no log has the token', async () => {
  const { name, urls } = await site(LONG)
  const { name: operation } = (await hook(service, urls.rebuild)).json
  const right = addressOf(urls.rebuild, operation)
  const token = tokenOf(urls.rebuild)
  const wrong = [
    right.replace(token, 'x'.repeat(43)),
    right.replace(/token=.*/, 'token='),
    right.replace('accounts/default/', 'accounts/unknown/'),
    right.replace(name.split('/').at(-1) ?? '', '01900000-0000-7000-8000-000000000000'),
  ]
  const answers = await Promise.all(wrong.map((address) => service.call(address)))
  const bodies = answers.map(({ status, json }) => JSON.stringify([status, json]))
  assert.equal(new Set(bodies).size, 1, bodies.join('\n'))
  assert.equal(answers[0]?.status, 401)
  for (const [address, status] of [
    [right.replace('webhook:rebuild', 'webhook:deleteAll'), 400],
    [right.replace(/token=.*/, ''), 400],
    [right.replace(/operations\/[^?]*/, 'operations/..%2f..'), 400],
    [right.replace(token, 'x'.repeat(300)), 400],
  ] as const) {
    const { status: got, text } = await service.call(address)
    assert.equal(got, status, `${address}: ${text}`)
    assert.ok(!text.includes(token))
  }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const { status } = await service.call(right, { method })
    assert.ok(status === 404 || status === 405, `${method}: ${status}`)
  }
  assert.ok(!service.log().includes(token))
})
