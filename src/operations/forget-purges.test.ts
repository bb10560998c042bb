import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { toPage } from '../storage/index.ts'

test('the newest purges of an environment are kept, and every other operation', async (t) => {
  const { sql, operations, accounts, newId } = await openCoreModules(t)
  const { id: accountId } = await accounts.create('ours')
  const path = () => ({ accountId, appName: 'app', environmentId: newId() })
  const [mine, other] = [path(), path()]
  const ids: string[] = []
  await sql.transaction(async (tx) => {
    for (const at of [mine, other]) {
      await operations.request(tx, at, 'CREATE')
      for (let purge = 0; purge < 8; purge++) {
        const done = await operations.record(tx, {
          path: at,
          trigger: 'PURGE_CACHE',
          requestedBy: null,
          finish: async () => ({ response: {} }),
        })
        if (at === mine) ids.push(done.id)
      }
      await operations.request(tx, at, 'REBUILD')
    }
  })
  const kept = async (at: typeof mine) =>
    (await operations.list(at, toPage({ order: 'oldest' }))).items.map(({ id, trigger }) => [trigger, id])
  const before = await kept(other)
  for (let times = 0; times < 2; times++) {
    await sql.transaction((tx) => operations.forgetPurges(tx, mine, { kept: 3 }))
    const [first, ...rest] = await kept(mine)
    assert.equal(first?.[0], 'CREATE')
    assert.equal(rest.pop()?.[0], 'REBUILD')
    assert.deepEqual(
      rest,
      ids.slice(-3).map((id) => ['PURGE_CACHE', id]),
    )
  }
  await sql.transaction((tx) => operations.forgetPurges(tx, other, { kept: 8 }))
  assert.deepEqual(await kept(other), before)
  await sql.transaction((tx) => operations.forgetPurges(tx, mine, { kept: 3, oldest: ids.at(-2) }))
  assert.deepEqual(
    (await kept(mine)).map(([trigger]) => trigger),
    ['CREATE', 'PURGE_CACHE', 'PURGE_CACHE', 'REBUILD'],
  )
})
