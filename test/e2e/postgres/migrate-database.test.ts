/** Rows move from SQLite to PostgreSQL and back, and the service goes on where it was. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { rows, statement } from '../../../src/storage/index.ts'
import { openSqlite } from '../../../src/storage/sql/sqlite.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { HEADLAND } from '../../support/service/headland.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks, hook } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

suite('with a data folder', NEEDS_POSTGRES, async () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  after(async () => {
    for (const end of ends) await end()
  })
  const server = await startPostgres(scope)
  const dataDir = await temporaryFolder(scope)
  // Also where all tests run on PostgreSQL, this folder begins with SQLite.
  const onSqlite = { HEADLAND_DATABASE_URL: '' }
  let service = await startService(scope, { dataDir, settings: onSqlite })
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, environment.name, page('moved'))).error, undefined)
  const urls = await createWebhooks(service, as, environment.name)

  const environmentOf = (url: string) => ({
    PATH: process.env.PATH,
    HEADLAND_DATA_DIR: dataDir,
    HEADLAND_DATABASE_URL: url,
  })
  const command = (to: string) => [HEADLAND, 'migrate-database', '--to', to]
  const migrate = async (to: string, url: string) =>
    promisify(execFile)(process.execPath, command(to), { env: environmentOf(url) })
  const tablesIn = (url: string) =>
    server.psql(`SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'public'`, url)

  async function assertWorks() {
    assert.match((await siteAnswer(service, environment.url)).text, /moved/)
    assert.equal((await service.call(`/v1/${environment.name}`, { as })).status, 200)
    assert.equal((await hook(service, urls.rebuild)).status, 200)
  }

  test('a service that runs is not moved', async () => {
    await assert.rejects(migrate(await server.createDatabase(), ''), /in use|runs/i)
  })

  test('a database that is not empty is refused, and the message shows no password', async () => {
    await service.stop()
    const url = await server.createDatabase()
    await server.psql('CREATE TABLE other (id BIGINT)', url)
    await assert.rejects(migrate(url, ''), ({ stderr }: { stderr: string }) => {
      assert.match(stderr, /not empty: it has the table other/)
      return !stderr.includes('correct-horse')
    })
    assert.ok(existsSync(join(dataDir, 'headland.db')))
  })

  test('a run that is killed leaves the target empty, and the source as it was', async () => {
    const sql = await openSqlite(join(dataDir, 'headland.db'))
    const many = Array.from({ length: 40_000 }, (_, at) => [`network-${at}`, at])
    await sql.transaction(async (tx) => {
      for (let at = 0; at < many.length; at += 500)
        await tx.query(
          statement`INSERT INTO log_in_attempts (subject, paid_until) VALUES ${rows(many.slice(at, at + 500))}`,
        )
    })
    await sql.close()
    const url = await server.createDatabase()
    const child = spawn(process.execPath, command(url), { env: environmentOf(''), stdio: 'ignore' })
    const exited = once(child, 'exit')
    const isCopying = `SELECT COUNT(*) FROM pg_stat_activity WHERE state LIKE '%transaction%' AND query LIKE 'INSERT%'
      AND application_name = 'headland'`
    await until(async () => child.exitCode !== null || (await server.psql(isCopying)) !== '0')
    child.kill('SIGKILL')
    await exited
    const isWhole = child.exitCode === 0
    if (!isWhole) await until(async () => (await tablesIn(url)) === '0')
    assert.equal(existsSync(join(dataDir, 'headland.db')), !isWhole)
  })

  test('rows move to PostgreSQL and back, and the service works with both', async () => {
    const url = await server.createDatabase()
    const moved = await migrate('postgres', url)
    assert.match(moved.stdout, /rows of \d+ tables were copied and compared/)
    assert.ok(!existsSync(join(dataDir, 'headland.db')))
    await assert.rejects(startService(scope, { dataDir, settings: onSqlite }), /were moved to PostgreSQL/)
    service = await startService(scope, { dataDir, settings: { HEADLAND_DATABASE_URL: url } })
    await assertWorks()
    await service.stop()
    await migrate('sqlite', url)
    await assert.rejects(
      startService(scope, { dataDir, settings: { HEADLAND_DATABASE_URL: url } }),
      /is a SQLite database/,
    )
    service = await startService(scope, { dataDir, settings: onSqlite })
    await assertWorks()
  })
})
