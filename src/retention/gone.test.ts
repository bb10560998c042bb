import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openModules } from '../../test/support/modules/deployments.ts'
import { statement } from '../storage/index.ts'
import { createForgetGone } from './gone.ts'

test('environments that are made and deleted all day leave a bounded history', async (t) => {
  const modules = await openModules(t)
  const { sql, account, accounts, operations, environment, environments, newId, clock } = modules
  const forgetGone = createForgetGone({ accounts, environments, operations, kept: 5 })
  const there = await environment()
  const response = JSON.stringify({ shellVariables: 'x'.repeat(50_000) })
  const triggers = ['CREATE', 'UPDATE', 'PURGE_CACHE', 'DELETE'] as const
  async function lifeOf(environmentId: string) {
    await sql.transaction(async (tx) => {
      for (const trigger of triggers) {
        const path = { accountId: account.id, appName: 'app', environmentId }
        const { id } = await operations.request(tx, path, trigger)
        await tx.query(statement`
          UPDATE operations SET done_time = ${clock.now()}, response = ${response} WHERE id = ${id}`)
      }
    })
    return environmentId
  }
  await lifeOf(there.id)
  const gone: string[] = []
  for (let count = 0; count < 12; count++) gone.push(await lifeOf(newId()))
  const never = new AbortController().signal
  assert.equal(await forgetGone(never), 7 * 4 + 5 * 2)
  assert.equal(await forgetGone(never), 0)
  const rows = await sql.query<{ environment_id: string; trigger_name: string; bytes: number }>(statement`
    SELECT environment_id, trigger_name, octet_length(response) AS bytes FROM operations ORDER BY id`)
  const kept = gone.slice(-5)
  assert.deepEqual(
    rows.filter(({ environment_id }) => environment_id !== there.id),
    kept.flatMap((environment_id) =>
      (['CREATE', 'DELETE'] as const).map((trigger_name) => ({ environment_id, trigger_name, bytes: 2 })),
    ),
  )
  assert.deepEqual(
    rows.flatMap(({ environment_id, trigger_name }) => (environment_id === there.id ? trigger_name : [])),
    [...triggers],
    'what is there is left alone',
  )
})
