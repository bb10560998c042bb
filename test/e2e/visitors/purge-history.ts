/** Thousands of purges of one environment over the API: their records in the database are bounded. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { notifyBelow } from '../../../src/apps/index.ts'
import { createIds, systemClock } from '../../../src/base/index.ts'
import { readArchives } from '../../../src/builds/index.ts'
import { LIMITS } from '../../../src/contract/index.ts'
import { createOperations } from '../../../src/operations/index.ts'
import { type Sql, statement } from '../../../src/storage/index.ts'
import { createLedger } from '../../../src/triggers/index.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { service } from './service.ts'

const KEPT = LIMITS.triggersKeptOfApi
const BEFORE = 2 * KEPT
const CALLS = 10

/** Records purges as the service does, without the fsync of each. */
async function recordPurges(sql: Sql, environmentId: string, count: number) {
  const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
  const operations = createOperations({ ...parts, readDescriptions: readArchives })
  const ledger = createLedger({ ...parts, operations, notifyBelow })
  const [row] = await sql.query<{ account_id: string; name: string }>(statement`
    SELECT e.account_id, a.name FROM environments e JOIN apps a ON a.id = e.app_id WHERE e.id = ${environmentId}`)
  const path = { accountId: row?.account_id ?? '', appName: row?.name ?? '', environmentId }
  const asked = {
    action: 'PURGE_CACHE',
    source: 'API',
    address: '::1',
    userAgent: '',
    requestedBy: null,
    time: systemClock.now(),
  } as const
  await sql.transaction(async (tx) => {
    for (let made = 0; made < count; made++) {
      const { id } = await operations.record(tx, {
        path,
        trigger: 'PURGE_CACHE',
        requestedBy: null,
        finish: async () => ({ response: {} }),
      })
      await ledger.add(tx, environmentId, [asked], { answer: 200, operationId: id })
    }
  })
}

test('finished operations of clearCache are deleted with their ledger entries, and the rest of the history stays', async () => {
  const as = await service.login()
  const { name } = await createEnvironment(service, as)
  const id = name.slice(-36)
  const sql = await service.openSql()
  after(() => sql.close())
  const counts = async () => {
    const rows = await sql.query<{ trigger_name: string; n: number }>(
      statement`SELECT trigger_name, COUNT(*) AS n FROM operations WHERE environment_id = ${id} GROUP BY trigger_name`,
    )
    return Object.fromEntries(rows.map(({ trigger_name, n }) => [trigger_name, n]))
  }
  await recordPurges(sql, id, BEFORE)
  assert.deepEqual(await counts(), { CREATE: 1, PURGE_CACHE: BEFORE })

  const answers = []
  for (let calls = 0; calls < CALLS; calls++)
    answers.push(await service.call(`/v1/${name}:clearCache`, { method: 'POST', as, body: {} }))
  assert.ok(answers.every(({ status }) => status === 200))
  const { CREATE, PURGE_CACHE = 0 } = await counts()
  assert.equal(CREATE, 1)
  assert.ok(PURGE_CACHE >= KEPT && PURGE_CACHE <= KEPT + CALLS, `${PURGE_CACHE} of ${BEFORE + CALLS} are left`)
  for (const { json } of answers) assert.equal((await service.call(`/v1/${json.name}`, { as })).json.done, true)
  const { json } = await service.call(`/v1/${name}/triggers?pageSize=200`, { as })
  assert.equal(
    (await service.call(`/v1/${json.triggers.at(-1).operation}`, { as })).status,
    200,
    'the ledger leads to it',
  )
})
