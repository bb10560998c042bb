import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'

test('builds in their quiet period are not ahead of others in the queue', async (t) => {
  const { sql, operations, accounts, newId, clock } = await openCoreModules(t)
  const { id: accountId } = await accounts.create('ours')
  const ask = (notBefore: number | null) =>
    sql.transaction((tx) =>
      operations.request(tx, { accountId, appName: 'app', environmentId: newId() }, 'REBUILD', {
        queue: 'build',
        notBefore,
      }),
    )
  const settling = [await ask(clock.now() + 1000), await ask(clock.now() + 2000)]
  const waiting = await ask(null)
  const positions = async () => {
    const all = [...settling, waiting].map((operation) => operations.queuePosition(operation))
    return Promise.all(all)
  }
  assert.deepEqual(await positions(), [1, 1, 1])
  await clock.advance(1000)
  assert.deepEqual(await positions(), [1, 2, 2])
  await clock.advance(1000)
  assert.deepEqual(await positions(), [1, 2, 3])
})
