import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { createBallast, LeadershipLost, statement } from '../storage/index.ts'
import { createFigures } from './figures.ts'
import { createForget } from './history.ts'
import { createRetain } from './retain.ts'
import { BALLAST_MS, createRounds, ROUND_MS, SOONEST_MS } from './round.ts'

async function setUp(t: TestContext) {
  const modules = await openModules(t)
  const shop = await modules.environment()
  const collected: number[] = []
  const collect = async () => {
    collected.push(modules.clock.now())
    return {}
  }
  const figures = createFigures(modules)
  const retain = createRetain({ ...modules, keepDeployments: 1 })
  const forget = createForget({ ...modules, keepHistory: 3 })
  const ballast = createBallast(join(modules.dataDir, 'ballast'))
  const disk = { free: 0 }
  const rounds = createRounds({
    ...modules,
    figures,
    retain,
    forget,
    collect,
    tendEarlierFiles: async () => undefined,
    ballast,
    freeBytes: async () => disk.free,
  })
  t.after(() => rounds.stop(1000))
  /** Waits until the round that is due is done. */
  async function count(expected: number) {
    while (collected.length < expected) await new Promise((resolve) => setImmediate(resolve))
    await rounds.settled()
    assert.equal(collected.length, expected)
  }
  return { ...modules, shop, figures, rounds, count, ballast, disk }
}

test('a round is made at the start and every hour', async (t) => {
  const { rounds, clock, count } = await setUp(t)
  rounds.start()
  await count(1)
  await clock.advance(ROUND_MS - 1)
  await count(1)
  await clock.advance(1)
  await count(2)
})

test('a shortage of space starts the next round at once, but not again and again', async (t) => {
  const { rounds, clock, count } = await setUp(t)
  rounds.start()
  await count(1)
  rounds.hurry()
  await clock.advance(SOONEST_MS)
  await count(1)
  rounds.hurry()
  await count(2)
  rounds.hurry()
  await clock.advance(0)
  await count(2)
})

test('a round of the leader discards what need not be kept, in every environment', async (t) => {
  const { rounds, shop, environment, deploy, count, hasOutput } = await setUp(t)
  rounds.lead(LEADING)
  const first = []
  for (const one of [shop, await environment()]) {
    first.push(await deploy(one))
    await deploy(one)
    await deploy(one)
  }
  rounds.start()
  await count(1)
  for (const { output } of first) assert.equal(await hasOutput(output), false)
})

test('another process than the leader measures its disk and discards nothing, until it leads', async (t) => {
  const { rounds, shop, deploy, count, figures, hasOutput } = await setUp(t)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  rounds.start()
  await count(1)
  assert.equal(await hasOutput(first.output), true)
  assert.equal((await figures.read()).length, 4)
  const leading = rounds.lead(LEADING)
  await count(2)
  assert.equal(await hasOutput(first.output), false)
  await leading.stop()
})

test('a leader whose term is over discards nothing', async (t) => {
  const { rounds, clock, shop, deploy, count, hasOutput } = await setUp(t)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  // It was frozen after it looked at its clock.
  rounds.lead({ ...LEADING, check: () => Promise.reject(new LeadershipLost()) })
  rounds.start()
  await count(1)
  assert.equal(await hasOutput(first.output), true)
  rounds.lead({ ...LEADING, isOver: () => true })
  await clock.advance(ROUND_MS)
  await count(2)
  assert.equal(await hasOutput(first.output), true)
})

test('the first round waits until it is known which process leads', async (t) => {
  const { rounds, shop, deploy, count, hasOutput } = await setUp(t)
  const known = Promise.withResolvers<void>()
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  rounds.start(known.promise)
  await count(0)
  rounds.lead(LEADING)
  known.resolve()
  await count(1)
  assert.equal(await hasOutput(first.output), false)
})

test('after a switch the environment is cleaned up and measured', async (t) => {
  const { rounds, shop, deploy, figures, hasOutput } = await setUp(t)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  rounds.switched(shop.id)
  await rounds.settled()
  assert.equal(await hasOutput(first.output), false)
  assert.equal((await figures.read()).length, 4)
})

test('outputs of unknown size are measured', async (t) => {
  const { rounds, shop, deploy, buildRetention, sql, count } = await setUp(t)
  await deploy(shop, { output: '22' })
  await sql.transaction((tx) => tx.query(statement`UPDATE builds SET output_bytes = NULL`))
  rounds.start()
  await count(1)
  assert.deepEqual(
    (await buildRetention.outputs()).map(({ bytes }) => bytes),
    [2],
  )
})

test('ballast is loaded only if there is plenty of free space', async (t) => {
  const { rounds, clock, count, ballast, disk } = await setUp(t)
  disk.free = 4 * ballast.bytes
  rounds.start()
  await count(1)
  assert.equal(ballast.throwOut(), false)
  disk.free += 1
  await clock.advance(BALLAST_MS)
  while (!ballast.throwOut()) await new Promise((resolve) => setImmediate(resolve))
})

test('after a stop nothing more is done', async (t) => {
  const { rounds, shop, deploy, hasOutput } = await setUp(t)
  const first = await deploy(shop)
  await deploy(shop)
  await deploy(shop)
  await rounds.stop(1000)
  rounds.switched(shop.id)
  await rounds.settled()
  assert.equal(await hasOutput(first.output), true)
})
