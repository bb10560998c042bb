import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCoreModules } from '../../../test/support/modules/core.ts'
import { until } from '../../../test/support/until.ts'
import { createChanges, createLog, systemClock } from '../../base/index.ts'
import { createTokenRecords, followTokens } from './join-tokens.ts'

const EDGE = { role: 'edge', name: 'sydney-1' }

async function open(t: TestContext) {
  const { sql, clock } = await openCoreModules(t)
  const records = createTokenRecords({ sql, clock })
  async function follow() {
    const followed = await followTokens({ sql, clock: systemClock, log: createLog('silent'), changes: createChanges() })
    t.after(() => followed.stop())
    return followed
  }
  return { records, follow, clock }
}

test('a name has the same generation until its tokens are revoked', async (t) => {
  const { records } = await open(t)
  assert.deepEqual([await records.made(EDGE), await records.made(EDGE)], [0, 0])
  await records.revoke(EDGE)
  assert.equal(await records.made(EDGE), 1)
  assert.equal(await records.made({ ...EDGE, role: 'node' }), 0)
})

test('what was never made on record can be revoked', async (t) => {
  const { records, follow } = await open(t)
  await records.revoke(EDGE)
  assert.equal((await follow()).isValid(EDGE), false)
})

test('the list says for which names there is a token, and since when others are revoked', async (t) => {
  const { records, clock } = await open(t)
  await records.made(EDGE)
  const made = clock.now()
  await clock.advance(1000)
  await records.made({ ...EDGE, name: 'tokyo-1' })
  await records.revoke(EDGE)
  assert.deepEqual(
    (await records.all()).map(({ name, makeTime, revokeTime }) => [name, makeTime, revokeTime]),
    [
      ['sydney-1', null, made + 1000],
      ['tokyo-1', made + 1000, null],
    ],
  )
})

test('a control process learns of a revocation, and accepts the next generation alone', async (t) => {
  const { records, follow } = await open(t)
  const tokens = await follow()
  let changes = 0
  tokens.onChange(() => changes++)
  assert.ok(tokens.isValid(EDGE))
  assert.ok(!tokens.isValid({ ...EDGE, generation: 1 }))
  await records.revoke(EDGE)
  await until(() => !tokens.isValid(EDGE))
  assert.equal(changes, 1)
  assert.ok(tokens.isValid({ ...EDGE, generation: 1 }))
  assert.ok(!tokens.isValid({ ...EDGE, generation: 2 }))
  assert.ok(tokens.isValid({ ...EDGE, role: 'node' }))
})
