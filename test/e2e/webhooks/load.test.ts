/** Webhooks that are called far too often: what it costs, and that no call is lost. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, suite, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { rounds } from '../../support/long.ts'
import { assertRecorded, type Called, callAll, ledgerOf } from '../../support/service/callers.ts'
import { deploy, type Files, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { createWebhooks } from '../../support/service/webhooks.ts'

const CALLS = rounds({ short: 4000, long: 10_000 })
const CONNECTIONS = 50
const PURGES = 2000
const ENVIRONMENTS = 8
/** The number of calls of each action, per environment. */
const MIXED = 40

const NO_LIMIT = { HEADLAND_WEBHOOK_CALLS: '1000000000', HEADLAND_CONCURRENCY: '1' }

type Place = { service: TestService; as: Login }

let marks = 0

/** An environment whose builds run until they are released, with a live deployment. */
async function heldEnvironment({ service, as }: Place) {
  const { name } = await createEnvironment(service, as)
  const mark = `load-${process.pid}-${++marks}`
  const first = await upload(service, as, name, heldBuild(mark, 'held'))
  const nextBuild = () => untilHeld(mark)
  await (await nextBuild()).goOn()
  assert.equal((await untilDone(service, as, first.json.name)).error, undefined)
  return { name, urls: await createWebhooks(service, as, name), nextBuild }
}

const times = (count: number, url: string): string[] => Array.from({ length: count }, () => url)

const operationsIn = (called: readonly Called[]): string[] => [
  ...new Set(called.filter(({ status }) => status === 200).map(({ operation }) => operation)),
]

async function buildOf({ service, as }: Place, operation: resources.Operation): Promise<resources.Build> {
  return (await service.call(`/v1/${operation.metadata.build}`, { as })).json
}

async function rebuildsOf({ service, as }: Place, environment: string): Promise<resources.Build[]> {
  const { json } = await service.call(`/v1/${environment}/builds?pageSize=200`, { as })
  return json.builds.filter(({ trigger }: resources.Build) => trigger !== 'UPLOAD')
}

/**
 * The first call begins a build that runs until all others are answered. They get one more build, which begins after the
 * last of them.
 */
async function burst(place: Place, phases: readonly number[], afterPhase: () => Promise<void> = async () => undefined) {
  const { service, as } = place
  const { name, urls, nextBuild } = await heldEnvironment(place)
  const called = await callAll(service, [urls.rebuild], 1)
  const running = await nextBuild()
  for (const count of phases) {
    called.push(...(await callAll(service, times(count, urls.rebuild), CONNECTIONS)))
    await afterPhase()
  }
  await running.goOn()
  const waiting = await nextBuild()
  await waiting.goOn()

  const [first, second, ...more] = operationsIn(called)
  assert.deepEqual(more, [])
  const ledger = await ledgerOf(service, as, name)
  const ended = await Promise.all([first, second].map((operation) => untilDone(service, as, operation as string)))
  for (const operation of ended) {
    assert.equal(operation.error, undefined, JSON.stringify(operation.error))
    const { startTime = '' } = await buildOf(place, operation)
    const late = ledger.filter((entry) => entry.operation === operation.name && entry.createTime > startTime)
    assert.deepEqual(late.slice(0, 5), [], 'a build begins after every call that it satisfies')
  }
  assert.equal((await rebuildsOf(place, name)).length, 2)
  return { called, ledger }
}

test(`of ${CALLS} calls in a row, those within the limit lead to two builds, the others get a time to retry`, async (t) => {
  const service = await startService(t)
  const place = { service, as: await service.login() }
  const { called, ledger } = await burst(place, [CALLS - 1])

  const [taken, refused] = [200, 429].map((wanted) => called.filter(({ status }) => status === wanted))
  assert.equal((taken?.length ?? 0) + (refused?.length ?? 0), CALLS, 'every answer is 200 or 429')
  assert.ok((taken?.length ?? 0) >= 1200, `${taken?.length} calls were taken`)
  assert.ok(refused?.length, 'no call was refused')
  assert.deepEqual(
    refused.filter(({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? '')),
    [],
  )
  assertRecorded(called, ledger)
  assert.equal(ledger.filter(({ answer }) => answer === 200).length, taken?.length)
  // One refusal per minute is recorded for all of them.
  const inLedger = ledger.filter(({ answer }) => answer === 429)
  assert.ok(inLedger.length >= 1 && inLedger.length < 10, `${inLedger.length} refusals are in the ledger`)
})

suite('without a limit', async () => {
  const ends: (() => unknown)[] = []
  const service = await startService({ after: (end) => void ends.unshift(end) }, { settings: NO_LIMIT })
  const place = { service, as: await service.login() }
  const { as } = place
  after(async () => {
    for (const end of ends) await end()
  })

  test(`${CALLS} calls are all accepted, lead to two builds, and are all in the ledger, without growing memory`, async () => {
    const megabytes: number[] = []
    const { called, ledger } = await burst(place, [1999, CALLS - 2000], async () => {
      megabytes.push(await residentMegabytes(service.controlPid()))
    })
    assert.equal(called.filter(({ status }) => status === 200).length, CALLS)
    assertRecorded(called, ledger)
    assert.equal(ledger.length, CALLS)
    const [warm = 0, end = 0] = megabytes
    assert.ok(end < warm + 40, `the service took ${warm} MB after 2000 calls, and ${end} MB after ${CALLS}`)
  })

  test(`${PURGES} purges are all done, by far fewer operations`, async () => {
    const { name } = await createEnvironment(service, as)
    const { purgeCache } = await createWebhooks(service, as, name)
    const called = await callAll(service, times(PURGES, purgeCache), CONNECTIONS)
    assert.equal(called.filter(({ status }) => status === 200).length, PURGES)
    const ledger = await ledgerOf(service, as, name)
    assertRecorded(called, ledger)
    assert.equal(ledger.length, PURGES)
    const operations = operationsIn(called)
    assert.ok(operations.length < PURGES / 4, `${operations.length} operations`)
    for (const operation of operations) {
      const { json } = await service.call(`/v1/${operation}`, { as })
      assert.deepEqual([json.done, json.error, json.metadata.trigger], [true, undefined, 'PURGE_CACHE'])
    }
  })

  test(`all three actions at once on ${ENVIRONMENTS} environments: one clean build each, and every purge done`, async () => {
    const sites = await Promise.all(Array.from({ length: ENVIRONMENTS }, (_, index) => site(place, index)))
    // Builds run one at a time, and this one blocks all others.
    const other = await heldEnvironment(place)
    await callAll(service, [other.urls.rebuild], 1)
    const running = await other.nextBuild()
    const round = sites.flatMap(({ urls: { rebuild, cleanRebuild, purgeCache } }) => [
      rebuild,
      cleanRebuild,
      purgeCache,
    ])
    const called = await callAll(service, Array.from({ length: MIXED }, () => round).flat(), CONNECTIONS)
    await running.goOn()
    assert.equal(called.filter(({ status }) => status === 200).length, MIXED * 3 * ENVIRONMENTS)

    for (const { name, urls } of sites) {
      const mine = called.filter(({ url }) => Object.values(urls).includes(url))
      assertRecorded(mine, await ledgerOf(service, as, name))
      const builds = operationsIn(mine.filter(({ url }) => url !== urls.purgeCache))
      assert.equal(builds.length, 1)
      for (const operation of operationsIn(mine)) {
        const { error, metadata } = await untilDone(service, as, operation)
        assert.equal(error, undefined, JSON.stringify(error))
        assert.equal(metadata.trigger, builds.includes(operation) ? 'CLEAN_REBUILD' : 'PURGE_CACHE')
      }
      const rebuilds = await rebuildsOf(place, name)
      assert.deepEqual(
        rebuilds.map(({ state, clean }) => ({ state, clean })),
        [{ state: 'SUCCEEDED', clean: true }],
      )
    }
  })
})

/** With a program to run: builds without one do not wait for others. */
const builtPage = (text: string): Files => ({
  'page.html': text,
  'package.json': JSON.stringify({ scripts: { build: 'mkdir -p dist && cp page.html dist/index.html' } }),
})

async function site({ service, as }: Place, index: number) {
  const { name } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, builtPage(`site ${index}`))).error, undefined)
  return { name, urls: await createWebhooks(service, as, name) }
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024)
}
