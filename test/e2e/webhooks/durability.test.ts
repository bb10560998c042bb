/** Webhooks and kill -9: the promise of a response is kept, whenever the service dies after it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../../../src/contract/index.ts'
import { newestFirst } from '../../support/e2e/newest-first.ts'
import { rounds } from '../../support/long.ts'
import { assertRecorded, callAll, callAs, ledgerOf } from '../../support/service/callers.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks, urlsOf, type WebhookUrls } from '../../support/service/webhooks.ts'

const ROUNDS = rounds({ short: 2, long: 20 })
/**
 * Mostly right after the response; otherwise while the operation is claimed, the build runs, or its output goes live.
 */
const MOMENTS_MS = [0, 0, 3, 0, 10, 30, 0, 100, 200, 400]

const CALLS = 200
const CONNECTIONS = 20

const scope = newestFirst({ after })
let service = await startService(scope)
const as = await service.login()

async function restart(end: 'stop' | 'kill') {
  await service[end]()
  service = await startService(scope, { dataDir: service.dataDir })
}

/** A static site with its webhooks. */
async function site(quiet?: resources.ChangedWebhookSet): Promise<{ name: string; urls: WebhookUrls }> {
  const { name } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, page('the site'))).error, undefined)
  return { name, urls: await createWebhooks(service, as, name, quiet) }
}

test(`kill -9 between the response and the build, ${ROUNDS} times: the build is made each time`, async () => {
  const { name, urls } = await site()
  const builds = new Set<string>()

  for (let round = 0; round < ROUNDS; round++) {
    const action = round % 4 === 3 ? 'cleanRebuild' : 'rebuild'
    const called = await callAs(`round-${round}`, service, urls[action])
    const moment = MOMENTS_MS[round % MOMENTS_MS.length] as number
    if (moment > 0) await wait(moment)
    await restart('kill')
    assert.equal(called.status, 200)

    const { error, metadata } = await untilDone(service, as, called.operation)
    assert.equal(error, undefined, `round ${round}, killed after ${moment} ms: ${JSON.stringify(error)}`)
    const ledger = await ledgerOf(service, as, name)
    assertRecorded([called], ledger)
    const build: resources.Build = (await service.call(`/v1/${metadata.build}`, { as })).json
    assert.deepEqual([build.state, build.clean], ['SUCCEEDED', action === 'cleanRebuild'])
    const asked = ledger.find(({ userAgent }) => userAgent === called.caller)
    assert.ok((build.startTime ?? '') >= (asked?.createTime ?? 'never'), 'the build began after the call')
    builds.add(build.name)
  }
  assert.equal(builds.size, ROUNDS)
})

test(`kill -9 in the middle of ${CALLS} calls: every call with a response is in the ledger, and its operation succeeds`, async () => {
  const { name, urls } = await site()
  const actions = [urls.rebuild, urls.purgeCache, urls.cleanRebuild]
  const all = Array.from({ length: CALLS }, (_, index) => actions[index % actions.length] as string)
  let died: Promise<void> | undefined
  const called = await callAll(service, all, CONNECTIONS, (count) => {
    if (count >= CALLS / 2) died ??= restart('kill')
  })
  await died

  const answered = called.filter(({ status }) => status === 200)
  assert.ok(answered.length >= CALLS / 2, `${answered.length} calls were answered`)
  assert.ok(answered.length < CALLS, 'it was killed after the last of them')
  const others = called.filter(({ status }) => status !== 200 && status !== 0)
  assert.deepEqual(others, [], 'a call that was not accepted got no response at all')
  const ledger = await ledgerOf(service, as, name)
  assertRecorded(answered, ledger)
  // It may also have calls whose response was lost.
  for (const operation of new Set(ledger.map((entry) => entry.operation))) {
    assert.equal((await untilDone(service, as, operation)).error, undefined)
  }
})

test('a quiet period continues unchanged after kill -9, and calls are kept by a stop and a start', async () => {
  const { name, urls } = await site({ quietSeconds: 300, maxQuietSeconds: 300 })
  const { operation, status } = await callAs('before', service, urls.rebuild)
  assert.equal(status, 200)
  const read = async (): Promise<resources.Operation> => (await service.call(`/v1/${operation}`, { as })).json
  const { settlesUntil } = (await read()).metadata
  assert.ok(settlesUntil)
  await restart('kill')

  const { metadata, done } = await read()
  assert.deepEqual([metadata.phase, metadata.settlesUntil, done], ['QUEUED', settlesUntil, false])
  // The maximum is counted from the first call, which came before the kill.
  assert.equal((await callAs('after', service, urls.rebuild)).operation, operation)
  const joined = (await read()).metadata
  assert.equal(Date.parse(joined.settlesUntil ?? '') - Date.parse(joined.createTime), 300_000)
  await restart('stop')
  assert.equal((await read()).metadata.triggerCount, 2)
  assert.deepEqual(
    (await ledgerOf(service, as, name)).map((entry) => [entry.userAgent, entry.operation]),
    [
      ['after', operation],
      ['before', operation],
    ],
  )
  const now = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(now.json.name, operation)
  assert.equal((await untilDone(service, as, operation)).error, undefined)
})

test('URLs that were created, regenerated or deleted just before kill -9 stay so', async () => {
  const { name, urls } = await site()
  const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`

  /** No request is made between the response and the kill: it would give the service time to write. */
  async function changeAndDie(method: string, verb = ''): Promise<WebhookUrls> {
    const url = `${service.api}/v1/${name}/webhooks${verb}`
    const answer = await fetch(url, { method, headers: { authorization } })
    const [text] = await Promise.all([answer.text(), restart('kill')])
    assert.equal(answer.status, 200, text)
    return urlsOf({ webhooks: [], ...JSON.parse(text) })
  }
  const statuses = async (urls: WebhookUrls) =>
    (await callAll(service, Object.values(urls), 1)).map(({ status }) => status)

  const regenerated = await changeAndDie('POST', ':regenerate')
  assert.deepEqual(await statuses(urls), [401, 401, 401])
  assert.deepEqual(await statuses(regenerated), [200, 200, 200])

  await changeAndDie('DELETE')
  assert.deepEqual(await statuses(regenerated), [401, 401, 401])

  const again = await changeAndDie('POST')
  assert.deepEqual(await statuses(again), [200, 200, 200])
})
