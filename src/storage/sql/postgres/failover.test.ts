/** Two servers of PostgreSQL, of which the replica takes over. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startPair } from '../../../../test/support/postgres/pair.ts'
import { NEEDS_POSTGRES, type Postgres } from '../../../../test/support/postgres/server.ts'
import { until } from '../../../../test/support/until.ts'
import { parseDatabaseAddress } from '../../../base/index.ts'
import { statement } from '../sql.ts'
import { openPostgres } from './postgres.ts'

async function open(t: TestContext, url: string, options: Parameters<typeof openPostgres>[1] = {}) {
  const sql = await openPostgres(parseDatabaseAddress(url), options)
  t.after(() => sql.close())
  return sql
}

for (const [what, lose] of [
  ['dead', (primary: Postgres) => primary.kill()],
  ['cut off, and its sessions stay open', async (primary: Postgres) => primary.freeze()],
] as const)
  test(`the replica that takes over is used where the server before is ${what}`, NEEDS_POSTGRES, async (t) => {
    const pair = await startPair(t)
    const url = pair.withBoth(pair.primary.url)
    const told: string[] = []
    const other = await open(t, url, { onChange: (_account, name) => told.push(name) })
    const sql = await open(t, url)
    await sql.transaction((tx) => tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY)`))
    const add = (id: number) =>
      sql.transaction(async (tx) => {
        await tx.query(statement`INSERT INTO notes (id) VALUES (${id})`)
        tx.notify('account', `note ${id}`)
      })
    const tryAdd = (id: number) =>
      add(id).then(
        () => true,
        () => false,
      )
    const reads = () => sql.query(statement`SELECT id FROM notes ORDER BY id`)
    await add(1)
    await lose(pair.primary)
    await assert.rejects(add(2), { name: 'DatabaseAway' })
    await pair.replica.promote()
    await until(() => tryAdd(3), 'the replica takes writes')
    assert.deepEqual(
      (await reads()).map(({ id }) => id),
      [1, 3],
    )
    // A process that asks for nothing notices nothing.
    const asks = () => other.query(statement`SELECT id FROM notes WHERE id = 1`).catch(() => [])
    await until(async () => (await asks()).length === 1, 'the other process has the rows')
    let last = 10
    await until(async () => (await tryAdd(++last)) && told.includes(`note ${last - 1}`), 'it is told of changes')
  })

test('a replica alone is not used', NEEDS_POSTGRES, async (t) => {
  const { replica } = await startPair(t)
  await assert.rejects(openPostgres(parseDatabaseAddress(replica.url)), /is a replica/)
})

test('the order of hosts does not matter', NEEDS_POSTGRES, async (t) => {
  const { primary, replica } = await startPair(t)
  const [first, second] = [replica, primary].map(({ host, port }) => `${host}:${port}`)
  const sql = await open(t, primary.url.replace(second as string, `${first},${second}`))
  const [row] = await sql.query(statement`SELECT pg_is_in_recovery() AS is_replica`)
  assert.equal(row?.is_replica, 0)
})
