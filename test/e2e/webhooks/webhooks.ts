/** Webhooks through the whole service: their set, the effect of a call, how calls join, and what the ledger records. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, nodeServer, page, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import type { ApiResponse } from '../../support/service/service.ts'
import { createWebhooks, hook, tokenOf, triggersOf, urlsOf } from '../../support/service/webhooks.ts'
import { PUBLIC_URL, service } from './public.ts'

const as = await service.login()

const LONG = { quietSeconds: 300, maxQuietSeconds: 3600 }

const post = (path: string, body: unknown = {}) => service.call(`/v1/${path}`, { method: 'POST', as, body })
const read = async (name: string): Promise<resources.Operation> => (await service.call(`/v1/${name}`, { as })).json
const buildsOf = async (environment: string): Promise<resources.Build[]> =>
  (await service.call(`/v1/${environment}/builds`, { as })).json.builds

/** An environment with a static site, and its webhooks. */
async function site(quiet?: resources.ChangedWebhookSet) {
  const { name, url } = await createEnvironment(service, as)
  await deploy(service, as, name, page('the site'))
  return { name, url, urls: await createWebhooks(service, as, name, quiet) }
}

let marks = 0

/** An environment whose builds run until they are released, and whose first one is running. */
async function building() {
  const { name, url } = await createEnvironment(service, as)
  const mark = `held-${process.pid}-${++marks}`
  const first = await upload(service, as, name, heldBuild(mark, 'held'))
  const urls = await createWebhooks(service, as, name)
  const running = await untilHeld(mark)
  return { name, url, urls, first: first.json.name as string, running, nextBuild: () => untilHeld(mark) }
}

function taken({ status, text, json }: ApiResponse): resources.WebhookAnswer {
  assert.equal(status, 200, text)
  return json
}

test('the set is created once, shown without its URLs, regenerated as a whole, and deleted', async () => {
  const { name } = await createEnvironment(service, as)
  const at = `/v1/${name}/webhooks`
  assert.equal((await service.call(at, { as })).reason, 'WEBHOOKS_NOT_FOUND')
  const made = await post(`${name}/webhooks`)
  assert.deepEqual(
    made.json.webhooks.map(({ action }: { action: string }) => action),
    ['rebuild', 'cleanRebuild', 'purgeCache'],
  )
  const again = await post(`${name}/webhooks`)
  assert.deepEqual([again.status, again.reason], [409, 'WEBHOOKS_EXIST'])

  const shown = await service.call(at, { as })
  assert.equal(shown.status, 200)
  const regenerated = await post(`${name}/webhooks:regenerate`)
  const [before, now] = [Object.values(urlsOf(made.json)), Object.values(urlsOf(regenerated.json))]
  for (const url of [...before, ...now]) assert.ok(!shown.text.includes(tokenOf(url)))
  assert.doesNotMatch(shown.text, /token|"url"/)
  assert.equal(new Set([...before, ...now].map(tokenOf)).size, 6)
  for (const url of before) assert.equal((await hook(service, url)).status, 401)

  const gone = await service.call(at, { method: 'DELETE', as })
  assert.deepEqual([gone.status, gone.json], [200, {}])
  for (const url of now) assert.equal((await hook(service, url)).status, 401)
  for (const [method, path] of [
    ['GET', at],
    ['DELETE', at],
    ['POST', `${at}:regenerate`],
    ['PATCH', at],
  ] as const) {
    const answer = await service.call(path, { method, as, ...(method === 'GET' ? {} : { body: {} }) })
    assert.deepEqual([answer.status, answer.reason], [404, 'WEBHOOKS_NOT_FOUND'], method)
  }
  assert.equal((await post(`${name}/webhooks`)).status, 200)
})

test('a URL begins with the public address, and has neither an escape nor a comma', async () => {
  const { name, urls } = await site()
  for (const [action, url] of Object.entries(urls)) {
    assert.ok(url.startsWith(`${PUBLIC_URL}/wh/v1/${name}/webhooks/webhook:${action}?token=`), url)
    assert.match(url, /^[A-Za-z0-9:/?=._-]+$/)
    // 256 bits, six in each letter.
    assert.match(tokenOf(url), /^[\w-]{43}$/)
  }
})

test('each token allows only its own action', async () => {
  const { name, urls } = await site()
  const actions = Object.keys(urls) as resources.WebhookAction[]
  for (const action of actions) {
    for (const other of actions) {
      const url = urls[action].replace(tokenOf(urls[action]), tokenOf(urls[other]))
      assert.equal(
        (await hook(service, url)).status,
        action === other ? 200 : 401,
        `${action} by the token of ${other}`,
      )
    }
  }
  assert.equal((await triggersOf(service, as, name)).length, 3)
})

test('the set shows when each URL was last called', async () => {
  const { name, urls } = await site()
  const lastUses = async () => {
    const { json } = await service.call(`/v1/${name}/webhooks`, { as })
    return json.webhooks.map(({ lastUseTime }: { lastUseTime?: string }) => lastUseTime)
  }
  assert.deepEqual(await lastUses(), [undefined, undefined, undefined])
  await hook(service, urls.purgeCache)
  const [entry] = await triggersOf(service, as, name)
  assert.deepEqual(await lastUses(), [undefined, undefined, entry?.createTime])
  await post(`${name}/webhooks:regenerate`)
  assert.deepEqual(await lastUses(), [undefined, undefined, undefined])
})

test('an invalid quiet period is refused, and fields that are not sent stay', async () => {
  const { name } = await site()
  const change = (body: unknown) => service.call(`/v1/${name}/webhooks`, { method: 'PATCH', as, body })
  for (const wrong of [
    { quietSeconds: 61 },
    { quietSeconds: -1 },
    { quietSeconds: 301, maxQuietSeconds: 3600 },
    { maxQuietSeconds: 3601 },
    { quietSeconds: 1.5 },
    { quiet: 1 },
  ]) {
    assert.equal((await change(wrong)).status, 400, JSON.stringify(wrong))
  }
  assert.equal((await change({ quietSeconds: 20 })).json.maxQuietSeconds, 60)
  assert.equal((await change({ maxQuietSeconds: 90 })).json.quietSeconds, 20)
})

test('the former name of maxQuietSeconds is still taken and shown', async () => {
  const { name } = await site()
  const change = (body: unknown) => service.call(`/v1/${name}/webhooks`, { method: 'PATCH', as, body })
  const { json } = await change({ quietSecondsMost: 90 })
  assert.deepEqual([json.maxQuietSeconds, json.quietSecondsMost], [90, 90])
  assert.equal((await change({ quietSecondsMost: 3601 })).status, 400)
  assert.equal((await change({ quietSecondsMost: 80, maxQuietSeconds: 81 })).status, 400)
})

for (const end of ['regenerated', 'deleted'] as const) {
  test(`once URLs are ${end}, none of the calls under load is accepted`, async () => {
    const { name, urls } = await site(LONG)
    let isOver = false
    const answers: { isLate: boolean; status: number }[] = []
    async function keepCalling(url: string) {
      for (let late = 0; late < 5; ) {
        const isLate = isOver
        const { status } = await hook(service, url)
        answers.push({ isLate, status })
        if (isLate) late++
      }
    }
    const calling = Object.values(urls).flatMap((url) => [keepCalling(url), keepCalling(url), keepCalling(url)])
    while (answers.length < 30) await new Promise((resolve) => setImmediate(resolve))
    const ended =
      end === 'deleted'
        ? await service.call(`/v1/${name}/webhooks`, { method: 'DELETE', as })
        : await post(`${name}/webhooks:regenerate`)
    isOver = true
    assert.equal(ended.status, 200)
    await Promise.all(calling)
    const count = (isLate: boolean, status: number) =>
      answers.filter((answer) => answer.isLate === isLate && answer.status === status).length
    assert.ok(count(false, 200) >= 30 - count(false, 401))
    assert.deepEqual([count(true, 200), count(true, 401)], [0, 45])
    assert.equal(count(false, 200) + count(false, 401) + 45, answers.length)
    const recorded = await allTriggers(name)
    assert.equal(recorded.length, count(false, 200))
    if (end === 'regenerated') {
      for (const url of Object.values(urlsOf(ended.json))) taken(await hook(service, url))
    }
  })
}

async function allTriggers(environment: string): Promise<resources.RecordedTrigger[]> {
  const found: resources.RecordedTrigger[] = []
  for (let pageToken = ''; ; ) {
    const { json } = await service.call(`/v1/${environment}/triggers?pageSize=200&pageToken=${pageToken}`, { as })
    found.push(...json.triggers)
    pageToken = json.nextPageToken
    if (!pageToken) return found
  }
}

test('a call before the first upload is refused, and the ledger says so', async () => {
  const { name } = await createEnvironment(service, as)
  const urls = await createWebhooks(service, as, name)
  for (const action of ['rebuild', 'cleanRebuild'] as const) {
    const refused = await hook(service, urls[action])
    assert.deepEqual([refused.status, refused.json.error.status], [400, 'FAILED_PRECONDITION'])
  }
  taken(await hook(service, urls.purgeCache))
  const entries = await triggersOf(service, as, name)
  assert.deepEqual(
    entries.map(({ action, answer, reason, operation }) => [action, answer, reason, operation !== '']),
    [
      ['PURGE_CACHE', 200, undefined, true],
      ['CLEAN_REBUILD', 400, 'NOTHING_UPLOADED', false],
      ['REBUILD', 400, 'NOTHING_UPLOADED', false],
    ],
  )
})

test('a hundred calls while a build runs lead to one more build, which starts after them', async () => {
  const { name, url, urls, first, running, nextBuild } = await building()
  const one = taken(await hook(service, urls.rebuild))
  assert.notEqual(one.name, first)
  const many = await Promise.all(Array.from({ length: 98 }, () => hook(service, urls.rebuild)))
  for (const each of many) assert.equal(taken(each).name, one.name)
  const strongest = taken(await hook(service, urls.cleanRebuild))
  assert.deepEqual([strongest.name, strongest.metadata.trigger], [one.name, 'CLEAN_REBUILD'])
  // A plain rebuild does not undo the request for a clean one.
  assert.equal(taken(await hook(service, urls.rebuild)).metadata.trigger, 'CLEAN_REBUILD')
  const byApi = await post(`${name}:rebuild`, { clean: false })
  assert.equal(byApi.json.name, one.name)

  await running.goOn()
  assert.equal((await untilDone(service, as, first)).error, undefined)
  const before = (await siteAnswer(service, url)).text
  await (await nextBuild()).goOn()
  const done = await untilDone(service, as, one.name)
  assert.equal(done.error, undefined)
  assert.notEqual((await siteAnswer(service, url)).text, before)

  const builds = await buildsOf(name)
  assert.deepEqual(
    builds.map(({ trigger, clean, state }) => [trigger, clean, state]),
    [
      ['CLEAN_REBUILD', true, 'SUCCEEDED'],
      ['UPLOAD', false, 'SUCCEEDED'],
    ],
  )
  const entries = await triggersOf(service, as, name)
  assert.equal(entries.length, 102)
  const began = builds[0]?.startTime ?? ''
  for (const { operation, createTime } of entries) {
    assert.equal(operation, one.name)
    assert.ok(createTime <= began, `${createTime} is after ${began}`)
  }
  const { metadata } = await read(one.name)
  assert.equal(metadata.triggerCount, 102)
  assert.deepEqual(
    metadata.triggers,
    entries.slice(0, 100).map((entry) => entry.name),
  )
  const ofOperation = await triggersOf(service, as, name, `?operation=${one.job.id}&pageSize=200`)
  assert.equal(ofOperation.length, 102)
})

test('a call while a build runs is not satisfied by it, however near its end it is', async () => {
  const { urls, first, running, nextBuild } = await building()
  await running.goOn()
  const called = taken(await hook(service, urls.rebuild))
  // It may have ended by now, or not: the call leads to another one in either case.
  assert.notEqual(called.name, first)
  await (await nextBuild()).goOn()
  assert.equal((await untilDone(service, as, called.name)).error, undefined)
})

test('an upload satisfies a waiting rebuild, the ledger names it, and a clean rebuild stays clean', async () => {
  const { name, url, urls, first, running } = await building()
  const waiting = taken(await hook(service, urls.cleanRebuild))
  const uploads = [await upload(service, as, name, page('older')), await upload(service, as, name, page('newer'))]
  const [older = '', newer = ''] = uploads.map(({ json }) => json.name as string)
  await running.goOn()
  await untilDone(service, as, first)
  assert.equal((await untilDone(service, as, newer)).error, undefined)
  assert.equal(reasonOf(await untilDone(service, as, older)), 'SUPERSEDED')
  const satisfied = await untilDone(service, as, waiting.name)
  assert.equal(satisfied.error, undefined)
  assert.match((await siteAnswer(service, url)).text, /newer/)
  const [entry] = await triggersOf(service, as, name)
  assert.equal(entry?.operation, newer)
  assert.deepEqual((await read(newer)).metadata.triggers, [entry?.name])
  const { json: build } = await service.call(`/v1/${satisfied.metadata.build}`, { as })
  assert.equal(build.state, 'CANCELLED')
  assert.equal((await buildsOf(name))[0]?.clean, true)
  const { json: environment } = await service.call(`/v1/${name}`, { as })
  assert.equal(environment.reconciling, false)
})

test('a build that is being cancelled is not joined: a later call leads to another one', async () => {
  const { urls, first, running, nextBuild } = await building()
  const cancelled = taken(await hook(service, urls.rebuild))
  await post(`${cancelled.name}:cancel`)
  const called = taken(await hook(service, urls.rebuild))
  assert.notEqual(called.name, cancelled.name)
  await running.goOn()
  await untilDone(service, as, first)
  assert.equal(reasonOf(await untilDone(service, as, cancelled.name)), 'OPERATION_CANCELLED')
  await (await nextBuild()).goOn()
  assert.equal((await untilDone(service, as, called.name)).error, undefined)
})

test('a purge is done before its response, also with many at once, and waits for no build', async () => {
  const { name, url } = await createEnvironment(service, as)
  const counting = `
    globalThis.count = (globalThis.count ?? 0) + 1
    response.setHeader('cache-control', 's-maxage=3600')
    response.write(String(globalThis.count))`
  await deploy(service, as, name, nodeServer('', counting))
  const urls = await createWebhooks(service, as, name)
  const see = async () => Number((await siteAnswer(service, url)).text)
  const mark = `held-${process.pid}-${++marks}`
  const { json: running } = await upload(service, as, name, heldBuild(mark, 'later'))
  await untilHeld(mark)

  const stored = await see()
  assert.equal(await see(), stored)
  const purged = taken(await hook(service, urls.purgeCache))
  assert.deepEqual([purged.done, purged.response, purged.job.state, purged.error], [true, {}, 'DONE', undefined])
  assert.equal(purged.metadata.trigger, 'PURGE_CACHE')
  assert.equal(await see(), stored + 1)
  assert.equal(await see(), stored + 1)

  const one = async () => {
    // Every response stored before the call is purged before the call's response, whichever purges it was merged with.
    const before = await see()
    const answer = taken(await hook(service, urls.purgeCache))
    assert.ok((await see()) > before)
    return answer.name
  }
  const operations = await Promise.all(Array.from({ length: 20 }, one))
  const entries = await triggersOf(service, as, name)
  assert.deepEqual(entries.map(({ operation }) => operation).toSorted(), [purged.name, ...operations].toSorted())
  for (const { purged: what } of entries) assert.deepEqual(what, { count: 0 })
  assert.equal((await read(running.name)).done, false)
  await post(`${running.name}:cancel`)
  await untilDone(service, as, running.name)
})

test('calls in the quiet period postpone the build, up to the maximum', async () => {
  const { name, urls } = await site({ quietSeconds: 200, maxQuietSeconds: 3600 })
  const settles = async () => taken(await hook(service, urls.rebuild)).metadata.settlesUntil ?? ''
  const first = taken(await hook(service, urls.rebuild))
  // So that the next one is later by the service's clock, which has milliseconds.
  await wait(2)
  const second = await settles()
  assert.ok(second > (first.metadata.settlesUntil ?? ''))
  await service.call(`/v1/${name}/webhooks`, { method: 'PATCH', as, body: { maxQuietSeconds: 200 } })
  const max = new Date(Date.parse(first.metadata.createTime) + 200_000).toISOString()
  assert.deepEqual([await settles(), await settles()], [max, max])
  const waiting = await read(first.name)
  assert.deepEqual(
    [waiting.metadata.phase, waiting.metadata.settlesUntil, waiting.metadata.triggerCount],
    ['QUEUED', max, 4],
  )
  await post(`${first.name}:cancel`)
  assert.equal(reasonOf(await untilDone(service, as, first.name)), 'OPERATION_CANCELLED')
})

test('a build starts by itself after its quiet period', async () => {
  const { urls } = await site({ quietSeconds: 1, maxQuietSeconds: 2 })
  const called = taken(await hook(service, urls.rebuild))
  assert.equal(taken(await hook(service, urls.rebuild)).name, called.name)
  assert.equal((await untilDone(service, as, called.name)).error, undefined)
})

test('a rebuild over the API ends the quiet period', async () => {
  const { name, urls } = await site(LONG)
  const called = taken(await hook(service, urls.rebuild))
  const asked = await post(`${name}:rebuild`)
  assert.deepEqual([asked.json.name, asked.json.metadata.settlesUntil], [called.name, undefined])
  assert.equal((await untilDone(service, as, called.name)).error, undefined)
})

test('an upload, an activation and a change of variables do not wait for a build in its quiet period', async () => {
  const { name, url, urls } = await site(LONG)
  await deploy(service, as, name, page('second'))
  const called = taken(await hook(service, urls.rebuild))
  const { json } = await service.call(`/v1/${name}/deployments`, { as })
  const old = json.deployments.at(-1).name
  const activated = await post(`${old}:activate`)
  assert.equal((await untilDone(service, as, activated.json.name)).error, undefined)
  assert.match((await siteAnswer(service, url)).text, /the site/)
  const patch = { method: 'PATCH', as, body: { shellVariables: [{ key: 'A', value: 'b' }] } }
  const changed = await service.call(`/v1/${name}?updateMask=shellVariables`, patch)
  assert.equal((await untilDone(service, as, changed.json.name)).error, undefined)
  assert.equal((await read(called.name)).metadata.phase, 'QUEUED')
  const { error } = await deploy(service, as, name, page('third'))
  assert.equal(error, undefined)
  assert.equal((await untilDone(service, as, called.name)).error, undefined)
  assert.match((await siteAnswer(service, url)).text, /third/)
})

test('an environment is deleted during a quiet period, and its URLs are invalid from then on', async () => {
  const { name, urls } = await site(LONG)
  const called = taken(await hook(service, urls.rebuild))
  const deleted = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  assert.equal((await hook(service, urls.rebuild)).status, 401)
  assert.equal((await untilDone(service, as, deleted.json.name)).error, undefined)
  assert.equal(reasonOf(await untilDone(service, as, called.name)), 'OPERATION_CANCELLED')
  for (const url of Object.values(urls)) assert.equal((await hook(service, url)).status, 401)
})

test('the ledger has pages, in both orders, and those of one operation', async () => {
  const { name, urls } = await site(LONG)
  for (let call = 0; call < 7; call++) await hook(service, call % 2 ? urls.purgeCache : urls.rebuild)
  const all = (await triggersOf(service, as, name)).map((entry) => entry.name)
  assert.equal(all.length, 7)
  for (const [order, expected] of [
    ['createTime%20desc', all],
    ['createTime', all.toReversed()],
  ] as const) {
    const found: string[] = []
    for (let pageToken = ''; ; ) {
      const query = `?pageSize=3&orderBy=${order}&pageToken=${pageToken}`
      const { json } = await service.call(`/v1/${name}/triggers${query}`, { as })
      assert.ok(json.triggers.length <= 3)
      found.push(...json.triggers.map((entry: resources.RecordedTrigger) => entry.name))
      pageToken = json.nextPageToken
      if (!pageToken) break
    }
    assert.deepEqual(found, expected)
  }
  assert.equal((await service.call(`/v1/${name}/triggers?pageToken=x`, { as })).reason, 'PAGE_TOKEN_INVALID')
})
