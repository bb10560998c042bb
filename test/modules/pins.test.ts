/** A rollback stays in effect: whatever requests a rebuild, the code that was rolled back does not return by itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { statement } from '../../src/storage/index.ts'
import type { Scope } from '../support/folder.ts'
import { holds } from '../support/fuzz.ts'
import { openModules } from '../support/modules/deployments.ts'
import { openPinning, type Pinning } from '../support/modules/pins.ts'

const QUIET = { ms: 10_000, maxMs: 25_000 }

/** Claims and ends everything that is due. */
async function work({ claim, finish }: Pick<Pinning, 'claim' | 'finish'>) {
  while (await claim()) await finish(true)
}

/** Uploads `good`, then `bad`; both were live. */
async function deployedTwice(t: Scope) {
  const world = await openPinning(t)
  await world.upload('good')
  await work(world)
  const good = (await world.live()) as string
  await world.upload('bad')
  await work(world)
  const bad = (await world.live()) as string
  return { ...world, good, bad }
}

async function rolledBack(t: Scope) {
  const world = await deployedTwice(t)
  const operation = await world.activate(world.good)
  await work(world)
  return { ...world, operation }
}

test('after a rollback the environment is pinned, and rebuilds build the archive that is live', async (t) => {
  const world = await rolledBack(t)
  const { archive, deployment, operation } = (await world.pin()) ?? assert.fail('it is not pinned')
  assert.deepEqual(
    [archive.digest, deployment, operation],
    [await world.digestOf('good'), world.good, world.operation.id],
  )
  for (const quiet of [undefined, QUIET]) {
    const rebuilt = await world.rebuild(quiet)
    assert.equal((await world.buildOf(rebuilt))?.archive.digest, await world.digestOf('good'))
    await world.clock.advance(QUIET.maxMs)
    await work(world)
  }
  assert.equal(await world.liveArchive(), await world.digestOf('good'))
  assert.notEqual(await world.live(), world.good)
})

test('an upload ends the pin when it is live, and not before', async (t) => {
  const world = await rolledBack(t)
  await world.upload('broken')
  await world.claim()
  const meanwhile = await world.rebuild()
  await world.finish(false)
  assert.ok(await world.pin(), 'an upload that does not build leaves it')
  assert.equal((await world.buildOf(meanwhile))?.archive.digest, await world.digestOf('good'))
  await work(world)
  assert.equal(await world.liveArchive(), await world.digestOf('good'))
  await world.upload('better')
  await world.claim()
  const after = await world.rebuild()
  await world.finish(true)
  assert.equal(await world.pin(), undefined)
  assert.equal(
    (await world.buildOf(after))?.archive.digest,
    await world.digestOf('better'),
    'the waiting rebuild builds it, too',
  )
})

test('unpin builds nothing, and the next rebuild builds the newest upload', async (t) => {
  const world = await rolledBack(t)
  const waiting = await world.rebuild(QUIET)
  await world.unpin()
  assert.equal(await world.pin(), undefined)
  assert.equal(await world.live(), world.good)
  assert.equal((await world.buildOf(waiting))?.archive.digest, await world.digestOf('bad'))
  await world.unpin()
})

test('going forward to the newest upload ends the pin', async (t) => {
  const world = await rolledBack(t)
  await world.activate(world.bad)
  await work(world)
  assert.equal(await world.pin(), undefined)
})

test('an activation of another build of the newest upload pins nothing', async (t) => {
  const world = await deployedTwice(t)
  await world.rebuild()
  await work(world)
  await world.activate(world.bad)
  await work(world)
  assert.deepEqual([await world.live(), await world.pin()], [world.bad, undefined])
})

test('an activation that fails pins nothing', async (t) => {
  const world = await deployedTwice(t)
  await world.activate(world.good)
  const rebuilt = await world.rebuild()
  await world.claim()
  await world.finish(false)
  assert.equal(await world.pin(), undefined)
  assert.equal((await world.buildOf(rebuilt))?.archive.digest, await world.digestOf('bad'))
})

for (const [what, quiet] of [
  ['waits for its turn', undefined],
  ['lets a burst of calls settle', QUIET],
] as const) {
  test(`a rebuild that ${what} when a rollback is requested runs after it, and builds its archive`, async (t) => {
    const world = await deployedTwice(t)
    const asked = await world.rebuild(quiet)
    const activation = await world.activate(world.good)
    assert.equal((await world.claim())?.id, activation.id, 'the rollback does not wait for it')
    // A further call joins the rebuild that waits.
    const joined = await world.rebuild(quiet)
    await world.finish(true)
    await world.clock.advance(QUIET.maxMs)
    const rebuilding = await world.claim()
    assert.equal(rebuilding?.id, joined.id)
    await world.finish(true)
    assert.equal(await world.liveArchive(), await world.digestOf('good'))
    const { doneTime, error } = await world.operations.require(world.path, asked.id)
    assert.deepEqual([doneTime === null, error], [false, null], 'the requested operation is done')
  })
}

test('a rebuild that is requested between a rollback and its switch builds the archive of the rollback', async (t) => {
  const world = await deployedTwice(t)
  await world.activate(world.good)
  await world.claim()
  await world.rebuild()
  await world.finish(true)
  await work(world)
  assert.equal(await world.liveArchive(), await world.digestOf('good'))
})

test('a rollback that is requested while a rebuild runs comes after it', async (t) => {
  const world = await deployedTwice(t)
  await world.rebuild()
  await world.claim()
  await world.activate(world.good)
  await world.finish(true)
  await work(world)
  assert.deepEqual([await world.live(), (await world.pin())?.deployment], [world.good, world.good])
})

test('an upload that is cancelled is not what the next rebuild builds', async (t) => {
  const world = await deployedTwice(t)
  const { id } = await world.upload('called off')
  await world.cancel(id)
  const rebuilt = await world.rebuild()
  assert.equal((await world.buildOf(rebuilt))?.archive.digest, await world.digestOf('bad'))
})

test('where an upload is cancelled while the one before it is built, rebuilds build that one', async (t) => {
  const world = await deployedTwice(t)
  await world.upload('better')
  await world.claim()
  const { id } = await world.upload('called off')
  await world.cancel(id)
  await world.finish(true)
  const rebuilt = await world.rebuild()
  assert.equal((await world.buildOf(rebuilt))?.archive.digest, await world.digestOf('better'))
})

test('the pinned archive and the newest upload are kept, however many builds come after them', async (t) => {
  const world = await rolledBack(t)
  const { sql, path, account, environment, build } = world
  for (let count = 0; count < 3; count++) {
    await world.rebuild()
    await work(world)
  }
  await sql.transaction((tx) =>
    tx.query(statement`DELETE FROM deployments WHERE environment_id = ${path.environmentId}`),
  )
  await sql.transaction((tx) => tx.query(statement`DELETE FROM builds WHERE environment_id = ${path.environmentId}`))
  const elsewhere = await environment()
  const other = await build(elsewhere, { archive: 'other' })
  const held = await world.buildRetention.archives(account.id)
  const expected = [await world.digestOf('good'), await world.digestOf('bad'), other.archive]
  assert.deepEqual(new Set(held.map(({ key }) => key)), new Set(expected))
  assert.equal(held.length, 3, 'each is counted once')
})

type Step =
  | { what: 'upload'; text: string }
  | { what: 'rebuild'; isQuiet: boolean }
  | { what: 'activate' | 'cancel'; which: number }
  | { what: 'finish'; isGood: boolean }
  | { what: 'unpin' | 'claim' | 'wait' }

const ENDINGS = [true, true, true, false].map((isGood) => ({ what: 'finish' as const, isGood }))

/** Two uploads were live: from here on there is something to roll back to. */
const FIRST: readonly Step[] = ['a', 'b'].flatMap((text): Step[] => [
  { what: 'upload', text },
  { what: 'claim' },
  { what: 'finish', isGood: true },
])

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ what: fc.constant('upload' as const), text: fc.constantFrom('a', 'b', 'c') }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('rebuild' as const), isQuiet: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constantFrom('activate' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constantFrom('cancel' as const), which: fc.nat(20) }) },
  { weight: 6, arbitrary: fc.constantFrom(...ENDINGS) },
  { weight: 6, arbitrary: fc.constant({ what: 'claim' as const }) },
  { weight: 1, arbitrary: fc.constantFrom({ what: 'unpin' as const }, { what: 'wait' as const }) },
)

test('a rollback stays in effect in any order of uploads, rebuilds, rollbacks and their ends', async (t) => {
  const modules = await openModules(t)
  await holds(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 40 }), async (steps) => {
      // Operations of an earlier case would be claimed, too.
      await modules.sql.transaction((tx) =>
        tx.query(statement`UPDATE operations SET done_time = 0 WHERE done_time IS NULL`),
      )
      const world = await openPinning(t, modules)
      const { sql, path, deployments, operations, sources } = world
      /** The archive of the last rollback, until another one was requested explicitly. */
      let held: string | undefined

      async function take(given: Step) {
        if (given.what === 'upload') return void (await world.upload(given.text))
        if (given.what === 'rebuild') return world.rebuild(given.isQuiet ? QUIET : undefined).catch(onlyIfNothing)
        if (given.what === 'wait') return world.clock.advance(QUIET.maxMs)
        if (given.what === 'claim') return void (await world.claim())
        if (given.what === 'unpin') {
          held = undefined
          return world.unpin()
        }
        if (given.what === 'finish') return end(given.isGood)
        if (given.what === 'cancel') {
          const waiting = await sql.transaction((tx) => operations.waitingBuild(tx, path))
          return waiting ? world.cancel(waiting.id) : undefined
        }
        if (given.what !== 'activate') return
        const known = (await deployments.kept(sql, path.environmentId)).filter(({ state }) =>
          /LIVE|RETIRED/.test(state),
        )
        const chosen = known[given.which % Math.max(1, known.length)]
        if (chosen) await world.activate(chosen.id)
      }

      async function end(isGood: boolean) {
        const before = await sources.find(sql, path.environmentId)
        const ended = await world.finish(isGood)
        if (!ended || !isGood) return
        if (ended.trigger === 'UPLOAD') held = undefined
        if (ended.activates === null) return
        const archive = await world.archiveOfDeployment(ended.activates)
        held = archive === before?.newest.digest ? undefined : archive
      }

      async function check() {
        const pin = await world.pin()
        assert.equal(pin?.archive.digest, held)
        if (held) assert.equal(await world.liveArchive(), held, 'the archive of the rollback is live')
        const waiting = await sql.query<{ archive_digest: string }>(statement`
          SELECT archive_digest FROM builds JOIN operations ON operations.id = builds.operation_id
          WHERE builds.environment_id = ${path.environmentId} AND start_time IS NULL AND finish_time IS NULL
          AND builds.trigger_name <> 'UPLOAD'`)
        assert.ok(waiting.length <= 1, 'at most one rebuild waits')
        const current = await sources.current(sql, path.environmentId)
        for (const { archive_digest } of waiting) assert.equal(archive_digest, current?.digest)
      }

      for (const given of [...FIRST, ...steps]) {
        await take(given)
        await check()
      }
    }),
    15,
  )
})

function onlyIfNothing(error: unknown) {
  assert.equal((error as { reason?: string }).reason, 'NOTHING_UPLOADED')
}
