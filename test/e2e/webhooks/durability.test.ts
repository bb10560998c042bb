/** Webhooks and kill -9: the promise of a response is kept, whenever the service dies after it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../../../src/contract/index.ts'
import type { Scope } from '../../support/folder.ts'
import { rounds } from '../../support/long.ts'
import { assertRecorded, callAll, callAs, ledgerOf } from '../../support/service/callers.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { createWebhooks, urlsOf, type WebhookUrls } from '../../support/service/webhooks.ts'

const ROUNDS = rounds({ short: 2, long: 20 })
/**
 * Mostly right after the response; otherwise while the operation is claimed, the build runs, or its output goes live.
 */
const MOMENTS_MS = [0, 0, 3, 0, 10, 30, 0, 100, 200, 400]

const CALLS = 200
const CONNECTIONS = 20

type Killable = { service: TestService; as: Login; name: string; urls: WebhookUrls; dieAndReturn(): Promise<void> }

/** A static site with its webhooks, in a service that can be killed and started again on the same data. */
async function openKillable(t: Scope, quiet?: resources.ChangedWebhookSet): Promise<Killable> {
  const service = await startService(t)
  const as = await service.login()
  const { name } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, page('the site'))).error, undefined)
  const killable: Killable = {
    service,
    as,
    name,
    urls: await createWebhooks(service, as, name, quiet),
    async dieAndReturn() {
      const { dataDir } = killable.service
      await killable.service.kill()
      killable.service = await startService(t, { dataDir })
    },
  }
  return killable
}

test(`kill -9 between the response and the build, ${ROUNDS} times: the build is made each time`, async (t) => {
  const killable = await openKillable(t)
  const { as, name, urls } = killable
  const builds = new Set<string>()

  for (let round = 0; round < ROUNDS; round++) {
    const action = round % 4 === 3 ? 'cleanRebuild' : 'rebuild'
    const called = await callAs(`round-${round}`, killable.service, urls[action])
    const moment = MOMENTS_MS[round % MOMENTS_MS.length] as number
    if (moment > 0) await wait(moment)
    await killable.dieAndReturn()
    assert.equal(called.status, 200)

    const { error, metadata } = await untilDone(killable.service, as, called.operation)
    assert.equal(error, undefined, `round ${round}, killed after ${moment} ms: ${JSON.stringify(error)}`)
    const ledger = await ledgerOf(killable.service, as, name)
    assertRecorded([called], ledger)
    const build: resources.Build = (await killable.service.call(`/v1/${metadata.build}`, { as })).json
    assert.deepEqual([build.state, build.clean], ['SUCCEEDED', action === 'cleanRebuild'])
    const asked = ledger.find(({ userAgent }) => userAgent === called.caller)
    assert.ok((build.startTime ?? '') >= (asked?.createTime ?? 'never'), 'the build began after the call')
    builds.add(build.name)
  }
  assert.equal(builds.size, ROUNDS)
})

test(`kill -9 in the middle of ${CALLS} calls: every call with a response is in the ledger, and its operation succeeds`, async (t) => {
  const killable = await openKillable(t)
  const { as, name, urls } = killable
  const actions = [urls.rebuild, urls.purgeCache, urls.cleanRebuild]
  const all = Array.from({ length: CALLS }, (_, index) => actions[index % actions.length] as string)
  let died: Promise<void> | undefined
  const called = await callAll(killable.service, all, CONNECTIONS, (count) => {
    if (count >= CALLS / 2) died ??= killable.dieAndReturn()
  })
  await died

  const answered = called.filter(({ status }) => status === 200)
  assert.ok(answered.length >= CALLS / 2, `${answered.length} calls were answered`)
  assert.ok(answered.length < CALLS, 'it was killed after the last of them')
  const others = called.filter(({ status }) => status !== 200 && status !== 0)
  assert.deepEqual(others, [], 'a call that was not accepted got no response at all')
  const ledger = await ledgerOf(killable.service, as, name)
  assertRecorded(answered, ledger)
  // It may also have calls whose response was lost.
  for (const operation of new Set(ledger.map((entry) => entry.operation))) {
    assert.equal((await untilDone(killable.service, as, operation)).error, undefined)
  }
})

test('a quiet period continues after kill -9 unchanged', async (t) => {
  const killable = await openKillable(t, { quietSeconds: 300, maxQuietSeconds: 300 })
  const { as, urls } = killable
  const { operation, status } = await callAs('before', killable.service, urls.rebuild)
  assert.equal(status, 200)
  const read = async (): Promise<resources.Operation> => (await killable.service.call(`/v1/${operation}`, { as })).json
  const { settlesUntil } = (await read()).metadata
  assert.ok(settlesUntil)
  await killable.dieAndReturn()

  const { metadata, done } = await read()
  assert.deepEqual([metadata.phase, metadata.settlesUntil, done], ['QUEUED', settlesUntil, false])
  // The maximum is counted from the first call, which came before the kill.
  assert.equal((await callAs('after', killable.service, urls.rebuild)).operation, operation)
  const joined = (await read()).metadata
  assert.equal(Date.parse(joined.settlesUntil ?? '') - Date.parse(joined.createTime), 300_000)
  const now = await killable.service.call(`/v1/${killable.name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(now.json.name, operation)
  assert.equal((await untilDone(killable.service, as, operation)).error, undefined)
})

test('URLs that were created, regenerated or deleted just before kill -9 stay so', async (t) => {
  const killable = await openKillable(t)
  const { as, name } = killable
  const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`

  /** No request is made between the response and the kill: it would give the service time to write. */
  async function changeAndDie(method: string, verb = ''): Promise<WebhookUrls> {
    const url = `${killable.service.api}/v1/${name}/webhooks${verb}`
    const answer = await fetch(url, { method, headers: { authorization } })
    const [text] = await Promise.all([answer.text(), killable.dieAndReturn()])
    assert.equal(answer.status, 200, text)
    return urlsOf({ webhooks: [], ...JSON.parse(text) })
  }
  const statuses = async (urls: WebhookUrls) =>
    (await callAll(killable.service, Object.values(urls), 1)).map(({ status }) => status)

  const regenerated = await changeAndDie('POST', ':regenerate')
  assert.deepEqual(await statuses(killable.urls), [401, 401, 401])
  assert.deepEqual(await statuses(regenerated), [200, 200, 200])

  await changeAndDie('DELETE')
  assert.deepEqual(await statuses(regenerated), [401, 401, 401])

  const again = await changeAndDie('POST')
  assert.deepEqual(await statuses(again), [200, 200, 200])
})
