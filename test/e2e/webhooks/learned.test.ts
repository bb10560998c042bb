/** Learned caching through the whole service: the setting, calls that name what changed, and what the ledger says of them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, type Files, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks, targetOf, triggersOf } from '../../support/service/webhooks.ts'

const service = await startService({ after })
const as = await service.login()

/** Pages say that they show the post of their path, in place of the hook, which the script keeps out. `/tags` says whether it is wanted. */
const SITE: Files = {
  'package.json': JSON.stringify({ scripts: { start: 'NODE_OPTIONS= node server.js' } }),
  'server.js': `let count = 0
require('node:http').createServer((request, response) => {
  const id = request.url.slice(1)
  response.setHeader('content-type', 'text/html')
  response.setHeader('x-headland-content', id === 'list' ? '1;c:wp:post' : id === 'tags' ? '1;unsure' : '1;i:wp:post:' + id)
  response.end(id === 'tags' ? String(process.env.HEADLAND_CONTENT_TAGS) : 'answer ' + ++count)
}).listen(process.env.PORT, process.env.HOST)`,
}

const change = async (name: string, learnedCaching: unknown) =>
  service.call(`/v1/${name}`, { method: 'PATCH', as, body: { learnedCaching } })

async function changed(name: string, learnedCaching: unknown): Promise<resources.Environment> {
  const { json, text, status } = await change(name, learnedCaching)
  assert.equal(status, 200, text)
  return (await untilDone(service, as, json.name)).response as unknown as resources.Environment
}

test('with the setting, a call purges the pages that show what changed, and others stay', async () => {
  const { name, url, ...made } = await createEnvironment(service, as)
  assert.equal(made.learnedCaching, null)
  await deploy(service, as, name, SITE)
  const { purgeCache } = await createWebhooks(service, as, name)
  const get = async (path: string) => (await siteAnswer(service, url, path)).text
  assert.notEqual(await get('/1'), await get('/1'))
  assert.equal(await get('/tags'), 'undefined')

  for (const wrong of [{}, { maxAgeSeconds: 0 }, { maxAgeSeconds: 604_801 }, 'on'])
    assert.equal((await change(name, wrong)).reason, 'FIELD_INVALID')
  const on = await changed(name, { maxAgeSeconds: 3600 })
  assert.deepEqual(on.learnedCaching, { maxAgeSeconds: 3600 })
  assert.notEqual(on.etag, made.etag)
  // The app was started anew, with the hook.
  assert.equal(await get('/tags'), 'on')

  const pages = ['/1', '/2', '/3', '/list']
  let before = await Promise.all(pages.map(get))
  const refetched = async () => {
    const now = await Promise.all(pages.map(get))
    const found = pages.filter((_, at) => now[at] !== before[at])
    before = now
    return found
  }
  const call = async (query: string, body?: unknown) => {
    const answer = await service.call(targetOf(`${purgeCache}${query}`), { method: 'POST', ...(body ? { body } : {}) })
    assert.equal(answer.status, 200, answer.text)
  }
  assert.deepEqual(await refetched(), [])
  await call('', { headland: 1, content: ['wp:post:1@page'] })
  assert.deepEqual(await refetched(), ['/1'])
  await call('&content=wp:post:2@post')
  assert.deepEqual(await refetched(), ['/2', '/list'])
  await call('&content=wp%3Apost%3A2%40page', { sys: {} })
  assert.deepEqual(await refetched(), ['/2'])
  await Promise.all([1, 3].map((id) => call('', { headland: 1, content: [`wp:post:${id}@page`] })))
  assert.deepEqual(await refetched(), ['/1', '/3'])
  for (const unknown of [undefined, { hello: 1 }, { headland: 1, content: ['wp:post:1', 'what'] }]) {
    await call('', unknown)
    assert.deepEqual(await refetched(), pages)
  }

  const triggers = (await triggersOf(service, as, name)).filter(({ action }) => action === 'PURGE_CACHE')
  const purged = triggers.map((trigger) => trigger.purged?.content?.join() ?? trigger.purged?.count)
  assert.deepEqual(purged.slice(0, 3), [0, 0, 0])
  assert.deepEqual(purged.slice(-3), ['WordPress page 2', 'WordPress post 2', 'WordPress page 1'])

  assert.equal((await changed(name, null)).learnedCaching, null)
  assert.equal(await get('/tags'), 'undefined')
  assert.notEqual(await get('/1'), await get('/1'))
})
