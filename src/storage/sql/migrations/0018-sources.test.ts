import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { migrate } from '../migrate.ts'
import { statement, type Transaction } from '../sql.ts'
import { openSqlite } from '../sqlite.ts'
import { sources } from './0018-sources.ts'
import { MIGRATIONS } from './index.ts'

type Made = { archive: string; state?: string; trigger?: string; isUnchanged?: number; isLive?: boolean }

/** An environment before this migration, with these builds, each of which was deployed. */
async function insert(tx: Transaction, environment: string, builds: Made[]) {
  await tx.query(statement`
    INSERT INTO environments (id, account_id, app_id, display_name, branch, cms_environment, root_directory,
      shell_variables, state, create_time, update_time)
    VALUES (${environment}, 'account', 'app', 'x', 'uploadable', 'x', '', '[]', 'EMPTY', 0, 0)`)
  for (const [
    index,
    { archive, state = 'SUCCEEDED', trigger = 'UPLOAD', isUnchanged = 0, isLive },
  ] of builds.entries()) {
    const id = `${environment}-${index}`
    await tx.query(statement`
      INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, archive_digest,
        archive_bytes, archive_files, state, phase, durations, create_time, is_unchanged)
      VALUES (${id}, 'account', ${environment}, ${id}, ${trigger}, 0, ${archive}, ${archive.length}, 1, ${state}, 'DONE',
        '{}', 0, ${isUnchanged})`)
    await tx.query(statement`
      INSERT INTO deployments (id, account_id, environment_id, build_id, operation_id, shell_variables, state, create_time,
        live_time)
      VALUES (${id}, 'account', ${environment}, ${id}, ${id}, '[]', 'RETIRED', 3, 4)`)
    if (isLive) await tx.query(statement`UPDATE environments SET live_deployment = ${id} WHERE id = ${environment}`)
  }
}

test('what was rolled back before pins were recorded is pinned, and nothing else is', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'sources.db'))
  t.after(() => sql.close())
  await migrate(
    sql,
    MIGRATIONS.filter(({ id }) => id < sources.id),
    0,
  )
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES ('account', 'ours', 0)`)
    await tx.query(statement`
      INSERT INTO apps (id, account_id, name, folded_name, region, create_time)
      VALUES ('app', 'account', 'shop', 'shop', 'UK', 0)`)
    await insert(tx, 'rolled-back', [
      { archive: 'good', isLive: true },
      { archive: 'bad' },
      { archive: 'bad', state: 'QUEUED', trigger: 'REBUILD' },
    ])
    await tx.query(statement`
      INSERT INTO operations (id, account_id, app_name, folded_app_name, environment_id, trigger_name, phase, build,
        deployment, attempts, create_time, done_time)
      VALUES ('activation', 'account', 'shop', 'shop', 'rolled-back', 'ACTIVATE', 'DONE', '', 'rolled-back-0', 1, 0, 7)`)
    await insert(tx, 'rolled-back-by-whom', [{ archive: 'good', isLive: true }, { archive: 'bad' }])
    await insert(tx, 'newest-is-live', [{ archive: 'old' }, { archive: 'new', isLive: true }])
    await insert(tx, 'newest-failed', [
      { archive: 'old', isLive: true },
      { archive: 'new', state: 'FAILED' },
    ])
    await insert(tx, 'newest-changed-nothing', [
      { archive: 'old', isLive: true },
      { archive: 'new', isUnchanged: 1 },
    ])
    await insert(tx, 'empty', [])
  })
  await migrate(sql, MIGRATIONS, 0)

  const rows = await sql.query(statement`
    SELECT environment_id, archive_digest, pin_digest, pin_bytes, pin_deployment, pin_operation, pin_time FROM sources
    ORDER BY environment_id`)
  assert.deepEqual(
    rows.map((row) => Object.values(row)),
    [
      ['newest-changed-nothing', 'new', null, null, null, null, null],
      ['newest-failed', 'new', null, null, null, null, null],
      ['newest-is-live', 'new', null, null, null, null, null],
      ['rolled-back', 'bad', 'good', 4, 'rolled-back-0', 'activation', 7],
      ['rolled-back-by-whom', 'bad', 'good', 4, 'rolled-back-by-whom-0', null, 4],
    ],
  )
  const [waiting] = await sql.query(statement`SELECT archive_digest FROM builds WHERE state = 'QUEUED'`)
  assert.equal(waiting?.archive_digest, 'good', 'a rebuild that waits builds what is pinned')
})
