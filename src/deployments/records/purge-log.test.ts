import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCoreModules } from '../../../test/support/modules/core.ts'
import { createPurgeLog } from './purge-log.ts'

async function open(t: TestContext) {
  const { sql, clock } = await openCoreModules(t)
  return { log: createPurgeLog({ sql, clock }), clock }
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

test('edges are remembered until they are removed', async (t) => {
  const { log } = await open(t)
  await log.addEdge('one')
  await log.addEdge('one')
  await log.addEdge('two')
  await log.removeEdge('one')
  assert.deepEqual(await log.edges(), ['two'])
})
