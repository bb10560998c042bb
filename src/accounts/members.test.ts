import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { createIds, systemClock } from '../base/index.ts'
import { MIGRATIONS, migrate, statement, toPage } from '../storage/index.ts'
import { openSqlite } from '../storage/sql/sqlite.ts'
import { createMembers } from './members.ts'

test('users from before there were members are members, each under an id that can be named', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'old.db'))
  t.after(() => sql.close())
  await migrate(
    sql,
    MIGRATIONS.filter(({ id }) => id < 10),
    0,
  )
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES ('a', 'one', 1), ('b', 'two', 1)`)
    await tx.query(statement`INSERT INTO users (id, email, password_hash, create_time)
      VALUES ('u', 'old@example.com', '', 5), ('v', 'older@example.com', '', 4)`)
    await tx.query(statement`INSERT INTO memberships (user_id, account_id, role)
      VALUES ('u', 'a', 'owner'), ('u', 'b', 'viewer'), ('v', 'a', 'developer')`)
  })
  await migrate(sql, MIGRATIONS, 0)
  const members = createMembers({ sql, clock: systemClock, newId: createIds(systemClock) })
  assert.deepEqual((await members.list('a', toPage({}))).items, [
    { id: 'v', email: 'older@example.com', role: 'developer', state: 'ACTIVE', createTime: 4 },
    { id: 'u', email: 'old@example.com', role: 'owner', state: 'ACTIVE', createTime: 5 },
  ])
  assert.equal((await members.setRole('b', 'u', 'developer')).role, 'developer')
  await assert.rejects(members.remove('a', 'u'), { reason: 'LAST_OWNER' })
  await assert.rejects(members.remove('b', 'v'), { reason: 'USER_NOT_FOUND' })
  // The user stays while there is another account.
  await members.remove('b', 'u')
  assert.equal((await members.list('a', toPage({}))).items.length, 2)
  await members.remove('a', 'v')
  const left = await sql.query(statement`SELECT id FROM users`)
  assert.deepEqual(
    left.map(({ id }) => id),
    ['u'],
  )
})
