/** An app with a cache of its own gets the number of the newest purge of its environment with each request. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask, HOST, serverTarget, startTestEdge, startUpstream } from '../../../test/support/edge/edge.ts'
import type { Target } from '../routes.ts'
import { createNewestPurges } from './newest-purges.ts'

const HEADER = 'x-headland-purge'

async function start(t: TestContext, { isToldPurges = true } = {}) {
  const app = await startUpstream(t, (request, response) =>
    response.setHeader('cache-control', 'no-store').end(request.headers[HEADER] ?? 'none'),
  )
  const target = { ...serverTarget(app.port), isToldPurges } as Target
  return startTestEdge(t, { [HOST]: target })
}

test('the number is that of the newest purge of the environment', async (t) => {
  const edge = await start(t)
  assert.equal((await ask(edge.port)).text, '0')
  edge.purge({ environment: 'e1', tags: ['a'] }, 1)
  edge.purge({ environment: 'e2' }, 2)
  assert.equal((await ask(edge.port)).text, '1')
  edge.purge({ environment: 'e1', tags: [] }, 3)
  assert.equal((await ask(edge.port)).text, '3')
  assert.equal((await ask(edge.port, { method: 'POST' })).text, '3')
})

test('where purges were missed, it is the number up to which they were', async (t) => {
  const edge = await start(t)
  edge.purge({ environment: 'e1' }, 1)
  edge.purgeEverything(7)
  assert.equal((await ask(edge.port)).text, '7')
})

test('no client chooses it, and an app that is not to be told does not get it', async (t) => {
  const told = await start(t)
  assert.equal((await ask(told.port, { headers: { [HEADER]: '99' } })).text, '0')
  const other = await start(t, { isToldPurges: false })
  assert.equal((await ask(other.port, { headers: { [HEADER]: '99', X_Headland_Purge: '99' } })).text, 'none')
})

test('numbers that arrive in another order do not fall', () => {
  const newest = createNewestPurges()
  const told = { environment: 'e1', isToldPurges: true }
  newest.add('e1', 5)
  newest.add('e1', 4)
  assert.equal(newest.of(told), 5)
  newest.forget('e1')
  assert.equal(newest.of(told), 0)
})
