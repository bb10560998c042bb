import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sqlSuite } from '../../../../test/suites/sql.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../../../../test/support/postgres/server.ts'
import { parseDatabaseAddress } from '../../../base/index.ts'
import { openPostgres } from './postgres.ts'

suite('with a server', NEEDS_POSTGRES, () => {
  let server: Postgres
  const ends: (() => unknown)[] = []
  before(async () => {
    server = await startPostgres({ after: (end) => ends.unshift(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  sqlSuite('PostgreSQL', async (t) => {
    const address = parseDatabaseAddress(await server.createDatabase())
    return async () => {
      const sql = await openPostgres(address)
      t.after(() => sql.close())
      return sql
    }
  })

  test('placeholder', () => assert.ok(server))
})
