import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { MIGRATIONS, migrate, statement } from '../storage/index.ts'
import { openSqlite } from '../storage/sql/sqlite.ts'
import { contentsOf, SOURCES_SINCE } from './contents.ts'
import { examineDatabase } from './database.ts'

const id = (number: number) => `01900000-0000-7000-8000-00000000000${number}`
const [ACCOUNT, APP, ENVIRONMENT, OLD, NEW] = [id(1), id(2), id(3), id(4), id(5)]
const digest = (letter: string) => `sha256:${letter.repeat(64)}`
const pathOf = (letter: string) => `blobs/${letter.repeat(2)}/${letter.repeat(64)}`

/** A database with two builds, up to a migration. */
async function openAt(t: Parameters<typeof temporaryFolder>[0], schema: number) {
  const sql = await openSqlite(join(await temporaryFolder(t), 'contents.db'))
  t.after(() => sql.close())
  await migrate(
    sql,
    MIGRATIONS.filter(({ id }) => id <= schema),
    0,
  )
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES (${ACCOUNT}, 'ours', 0)`)
    await tx.query(statement`
      INSERT INTO apps (id, account_id, name, folded_name, region, create_time)
      VALUES (${APP}, ${ACCOUNT}, 'shop', 'shop', 'UK', 0)`)
    await tx.query(statement`
      INSERT INTO environments (id, account_id, app_id, display_name, branch, cms_environment, root_directory,
        shell_variables, state, create_time, update_time)
      VALUES (${ENVIRONMENT}, ${ACCOUNT}, ${APP}, 'x', 'uploadable', 'x', '', '[]', 'EMPTY', 0, 0)`)
    for (const [id, letter, state] of [
      [OLD, 'a', 'FAILED'],
      [NEW, 'b', 'SUCCEEDED'],
    ] as const)
      await tx.query(statement`
        INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, archive_digest,
          archive_bytes, archive_files, state, phase, durations, create_time, finish_time)
        VALUES (${id}, ${ACCOUNT}, ${ENVIRONMENT}, ${id}, 'UPLOAD', 0, ${digest(letter)}, 1, 1, ${state},
          'DONE', '{}', 0, 0)`)
  })
  return sql
}

test('a backup has the newest upload and the pinned archive, whatever was built since', async (t) => {
  const sql = await openAt(t, MIGRATIONS.at(-1)?.id ?? 0)
  await sql.transaction((tx) =>
    tx.query(statement`
      INSERT INTO sources (environment_id, archive_digest, archive_bytes, archive_files, pin_digest, pin_bytes, pin_files,
        pin_deployment, pin_time)
      VALUES (${ENVIRONMENT}, ${digest('c')}, 1, 1, ${digest('d')}, 1, 1, ${OLD}, 0)`),
  )
  const { schema } = await examineDatabase(sql)
  const { archives } = await contentsOf(sql, schema)
  assert.deepEqual(archives.map(({ path }) => path).sort(), ['b', 'c', 'd'].map(pathOf))
})

test('a backup has the packs of repositories with their indexes', async (t) => {
  const sql = await openAt(t, MIGRATIONS.at(-1)?.id ?? 0)
  await sql.transaction((tx) =>
    tx.query(statement`
      INSERT INTO git_packs (id, app_id, account_id, name, pack_digest, index_digest, bytes, create_time)
      VALUES (${id(6)}, ${APP}, ${ACCOUNT}, ${'1'.repeat(40)}, ${digest('e')}, ${digest('f')}, 2, 0)`),
  )
  const { schema } = await examineDatabase(sql)
  const { archives } = await contentsOf(sql, schema)
  assert.deepEqual(
    archives.filter(({ path }) => !path.startsWith('blobs/bb')),
    ['e', 'f'].map((letter) => ({ path: pathOf(letter), isDue: true })),
  )
})

test('archives that can be rolled back to are in a backup, and not missed where an earlier version removed them', async (t) => {
  const sql = await openAt(t, MIGRATIONS.at(-1)?.id ?? 0)
  await sql.transaction((tx) => tx.query(statement`UPDATE builds SET output_digest = ${digest('e')}`))
  const { schema } = await examineDatabase(sql)
  const { archives } = await contentsOf(sql, schema)
  assert.deepEqual(
    archives.toSorted((one, other) => one.path.localeCompare(other.path)),
    [
      { path: pathOf('a'), isDue: false },
      { path: pathOf('b'), isDue: true },
    ],
  )
})

test('a backup of a version that recorded neither is read without them', async (t) => {
  const sql = await openAt(t, SOURCES_SINCE - 1)
  const { schema } = await examineDatabase(sql)
  const { archives } = await contentsOf(sql, schema)
  assert.deepEqual(
    archives.map(({ path }) => path),
    [pathOf('b')],
  )
})

test('a pinned archive that is no digest is refused', async (t) => {
  const sql = await openAt(t, MIGRATIONS.at(-1)?.id ?? 0)
  await sql.transaction((tx) =>
    tx.query(statement`
      INSERT INTO sources (environment_id, archive_digest, archive_bytes, archive_files, pin_digest)
      VALUES (${ENVIRONMENT}, ${digest('c')}, 1, 1, '../../master.key')`),
  )
  await assert.rejects(examineDatabase(sql), /sources\.pin_digest is not as Headland writes it/)
})
