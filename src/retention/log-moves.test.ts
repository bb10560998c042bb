import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { until } from '../../test/support/until.ts'
import { createLog } from '../base/index.ts'
import { createLogMoves, MOVE_MS } from './log-moves.ts'

/** Logs on a disk, a set of builds that are over, and a store that may be away. */
function setUp(t: TestContext) {
  const clock = handClock()
  const world = {
    builds: ['builds/a', 'builds/b'],
    closed: ['runtime/e'],
    over: new Set(['a']),
    isAway: false,
    tries: 0,
  }
  const take = (from: 'builds' | 'closed') => async (name: string) => {
    world.tries += 1
    if (world.isAway) throw new Error('away')
    world[from] = world[from].filter((one) => one !== name)
  }
  const moves = createLogMoves({
    clock,
    log: createLog('silent', 'json'),
    builds: { isOver: async (id) => world.over.has(id) },
    moving: {
      list: async (parent) => (parent === 'builds' ? world.builds : world.closed),
      moveWhole: take('builds'),
      moveClosed: take('closed'),
    },
  })
  t.after(() => moves.stop(1000))
  return { clock, world, moves }
}

test('logs of builds that are over are moved, and closed parts of others', async (t) => {
  const { clock, world, moves } = setUp(t)
  moves.start()
  await until(() => clock.sleeping() > 0)
  assert.deepEqual([world.builds, world.closed], [['builds/b'], []])
  world.over.add('b')
  await clock.advance(MOVE_MS)
  await until(() => world.builds.length === 0)
})

test('what the store did not take is tried again, one log at a time while it is away', async (t) => {
  const { clock, world, moves } = setUp(t)
  world.isAway = true
  moves.start()
  await until(() => clock.sleeping() > 0)
  assert.deepEqual([world.builds.length, world.tries], [2, 1])
  world.isAway = false
  await clock.advance(MOVE_MS)
  await until(() => world.closed.length === 0)
  assert.deepEqual(world.builds, ['builds/b'])
})
