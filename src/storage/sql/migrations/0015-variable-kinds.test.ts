import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/folder.ts'
import { createVault } from '../../secrets/vault.ts'
import { migrate } from '../migrate.ts'
import { statement } from '../sql.ts'
import { openSqlite } from '../sqlite.ts'
import { MIGRATIONS } from './index.ts'

const ID = '01900000-0000-7000-8000-000000000000'
const vault = createVault(randomBytes(32))

/** As they were stored before variables had a kind. */
const listOf = (...keys: string[]) =>
  JSON.stringify(keys.map((key) => ({ key, sealed: vault.seal(`{"key":"VITE_${key}"}`, key) })))

test('variables that were there get their kind by their name, in environments and in deployments alike', async (t) => {
  const sql = await openSqlite(join(await temporaryFolder(t), 'kinds.db'))
  t.after(() => sql.close())
  await migrate(
    sql,
    MIGRATIONS.filter(({ id }) => id < 15),
    0,
  )
  const published = ['NEXT_PUBLIC_A', 'NUXT_PUBLIC_A', 'PUBLIC_A', 'VITE_A', 'REACT_APP_A', 'GATSBY_A', 'EXPO_PUBLIC_A']
  const others = ['API_KEY', 'MY_VITE_A', 'vite_a', 'key', 'kind', 'sealed', 'PUBLIC']
  const list = listOf('API_KEY', ...published, ...others.slice(1))
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES ('account', 'ours', 0)`)
    await tx.query(statement`
      INSERT INTO apps (id, account_id, name, folded_name, region, create_time)
      VALUES ('app', 'account', 'shop', 'shop', 'UK', 0)`)
    for (const [id, text] of [
      [ID, list],
      ['empty', '[]'],
    ] as const)
      await tx.query(statement`
        INSERT INTO environments (id, account_id, app_id, display_name, branch, cms_environment, root_directory,
          shell_variables, state, create_time, update_time)
        VALUES (${id}, 'account', 'app', 'x', 'uploadable', 'x', '', ${text}, 'EMPTY', 0, 0)`)
    await tx.query(statement`
      INSERT INTO builds (id, account_id, environment_id, operation_id, trigger_name, is_clean, archive_digest,
        archive_bytes, archive_files, state, phase, durations, create_time)
      VALUES ('build', 'account', ${ID}, 'operation', 'UPLOAD', 0, 'sha256:x', 1, 1, 'SUCCEEDED', 'DONE', '{}', 0)`)
    await tx.query(statement`
      INSERT INTO deployments (id, account_id, environment_id, build_id, operation_id, shell_variables, state, create_time)
      VALUES ('deployment', 'account', ${ID}, 'build', 'operation', ${list}, 'LIVE', 0)`)
  })
  await migrate(sql, MIGRATIONS, 0)

  const read = async (asked: ReturnType<typeof statement>) =>
    (await sql.query<{ shell_variables: string }>(asked))[0]?.shell_variables ?? ''
  const kept = await read(statement`SELECT shell_variables FROM environments WHERE id = ${ID}`)
  assert.equal(await read(statement`SELECT shell_variables FROM deployments`), kept)
  assert.equal(await read(statement`SELECT shell_variables FROM environments WHERE id = 'empty'`), '[]')
  const variables: { kind: string; key: string; sealed: string }[] = JSON.parse(kept)
  const keysOf = (wanted: string) => variables.flatMap(({ kind, key }) => (kind === wanted ? key : []))
  assert.deepEqual(keysOf('PLAIN'), published)
  assert.deepEqual(keysOf('SECRET'), others)
  for (const { key, sealed } of variables) assert.equal(vault.open(sealed, key), `{"key":"VITE_${key}"}`)
  assert.deepEqual(Object.keys(variables[0] ?? {}), ['kind', 'key', 'sealed'], 'in the order that is written today')
})
