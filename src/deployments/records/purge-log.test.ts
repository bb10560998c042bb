import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCoreModules } from '../../../test/support/modules/core.ts'
import { createChanges } from '../../base/index.ts'
import { createPurgeLog } from './purge-log.ts'

async function open(t: TestContext) {
  const { sql, clock } = await openCoreModules(t)
  return { log: createPurgeLog({ sql, clock, changes: createChanges() }), clock }
}

const purgeOf = (environment: string) => ({ environment, tags: ['post-1'] })

test('an edge gets the purges after the one that it has applied last, in their order', async (t) => {
  const { log } = await open(t)
  assert.deepEqual(await log.purgesSince(0), { purges: [] })
  const numbers = [await log.addPurge(purgeOf('a')), await log.addPurge(purgeOf('b')), await log.addPurge(purgeOf('c'))]
  assert.deepEqual(numbers, [1, 2, 3])
  assert.deepEqual(await log.purgesSince(1), {
    purges: [
      { number: 2, purge: purgeOf('b') },
      { number: 3, purge: purgeOf('c') },
    ],
  })
  assert.deepEqual(await log.purgesSince(3), { purges: [] })
})

test('an edge that was away for so long that purges were removed purges everything', async (t) => {
  const { log, clock } = await open(t)
  for (let count = 0; count < 50; count++) await log.addPurge(purgeOf('a'))
  await clock.advance(11 * 60_000)
  for (let count = 0; count < 50; count++) await log.addPurge(purgeOf('a'))
  assert.deepEqual(await log.purgesSince(10), { everythingUntil: 100 })
  const later = await log.purgesSince(50)
  assert.equal('purges' in later && later.purges.length, 50)
})

test('an edge that has applied more than there is followed another database, and purges everything', async (t) => {
  const { log } = await open(t)
  await log.addPurge(purgeOf('a'))
  assert.deepEqual(await log.purgesSince(900), { everythingUntil: 1 })
})

test('purges that come together have numbers of their own, in the order of the calls', async (t) => {
  const { log } = await open(t)
  const numbers = await Promise.all(Array.from({ length: 250 }, (_, at) => log.addPurge(purgeOf(`e${at}`))))
  assert.deepEqual(
    numbers,
    Array.from({ length: 250 }, (_, at) => at + 1),
  )
  assert.equal(await log.lastPurge(), 250)
  assert.deepEqual(await log.purgesSince(249), { purges: [{ number: 250, purge: purgeOf('e249') }] })
})

const control = (process: string, heartbeats: number) => ({ process, heartbeats })
const edge = (process: string, connection = 1) => ({ process, connection })

test('an edge follows the control process of its latest connection, whichever is recorded last', async (t) => {
  const { log } = await open(t)
  assert.deepEqual(await log.heartbeat(control('a', 1), [], edge('e', 1)), { wasKnown: false, isAdded: true })
  assert.deepEqual(await log.heartbeat(control('b', 1), [], edge('e', 3)), { wasKnown: false, isAdded: true })
  assert.deepEqual(await log.heartbeat(control('a', 2), [], edge('e', 2)), { wasKnown: true, isAdded: false })
  await log.removeEdge(edge('e', 1), 'a')
  await log.removeEdge(edge('e', 2), 'b')
  assert.deepEqual(await log.edges(), [{ process: 'e', control: 'b', connection: 3, applied: 0 }])
  await log.removeEdge(edge('e', 3), 'b')
  assert.deepEqual(await log.edges(), [])
})

test('only the control process that an edge follows confirms for it', async (t) => {
  const { log } = await open(t)
  await log.heartbeat(control('a', 1), [], edge('e'))
  await log.heartbeat(control('a', 2), [], edge('f'))
  await log.confirm('b', new Map([['e', 9]]))
  await log.confirm(
    'a',
    new Map([
      ['e', 4],
      ['f', 5],
    ]),
  )
  assert.deepEqual((await log.edges()).map(({ process, applied }) => [process, applied]).toSorted(), [
    ['e', 4],
    ['f', 5],
  ])
})

test('a control process is removed with its edges, unless it has done something since', async (t) => {
  const { log } = await open(t)
  await log.heartbeat(control('a', 1), [])
  await log.heartbeat(control('b', 1), [], edge('e'))
  await log.heartbeat(control('b', 2), [])
  assert.equal(await log.fence(control('b', 1), 'a'), false)
  assert.equal(await log.fence(control('b', 2), 'c'), false, 'by one that is not on record')
  assert.equal((await log.edges()).length, 1)
  assert.equal(await log.fence(control('b', 2), 'a'), true)
  assert.deepEqual(await log.edges(), [])
  assert.deepEqual(await log.controls(), [{ ...control('a', 1), routed: null }])
})

test('a control process that was removed records its edges again, but not those that follow another one', async (t) => {
  const { log } = await open(t)
  await log.heartbeat(control('a', 1), [])
  await log.heartbeat(control('b', 1), [], edge('e'))
  await log.heartbeat(control('b', 2), [], edge('f'))
  await log.fence(control('b', 2), 'a')
  await log.heartbeat(control('a', 2), [], edge('f', 2))
  assert.deepEqual(await log.heartbeat(control('b', 3), [edge('e'), edge('f')]), { wasKnown: false, isAdded: false })
  assert.deepEqual((await log.edges()).map(({ process, control }) => [process, control]).toSorted(), [
    ['e', 'b'],
    ['f', 'a'],
  ])
})

test('edges of a control process that has left are removed in the same way', async (t) => {
  const { log } = await open(t)
  await log.heartbeat(control('a', 1), [])
  await log.heartbeat(control('b', 1), [], edge('e'))
  await log.removeControl('b')
  assert.equal((await log.edges()).length, 1)
  assert.equal(await log.fence({ process: 'b', heartbeats: null }, 'a'), true)
  assert.deepEqual(await log.edges(), [])
})
