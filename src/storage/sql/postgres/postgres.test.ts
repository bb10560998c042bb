import assert from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import { sqlSuite } from '../../../../test/suites/sql.ts'
import { type Ca, startCa } from '../../../../test/support/certificates/ca.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../../../../test/support/postgres/server.ts'
import { until } from '../../../../test/support/until.ts'
import { parseDatabaseAddress } from '../../../base/index.ts'
import { migrate } from '../migrate.ts'
import { MIGRATIONS } from '../migrations/index.ts'
import { list, type Sql, statement } from '../sql.ts'
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

  async function open(t: TestContext, url: string, options: Parameters<typeof openPostgres>[1] = {}): Promise<Sql> {
    const sql = await openPostgres(parseDatabaseAddress(url), options)
    t.after(() => sql.close())
    return sql
  }
  const notes = (sql: Sql) =>
    sql.transaction((tx) => tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT)`))
  const add = (sql: Sql, id: number) =>
    sql.transaction((tx) => tx.query(statement`INSERT INTO notes (id, text) VALUES (${id}, ${'x'})`))
  const idsIn = async (sql: Sql) => (await sql.query(statement`SELECT id FROM notes ORDER BY id`)).map(({ id }) => id)

  sqlSuite('PostgreSQL', async (t) => {
    const url = await server.createDatabase()
    return () => open(t, url)
  })

  test('two processes that migrate an empty database at the same time both find it migrated', async (t) => {
    const url = await server.createDatabase()
    const [one, two] = [await open(t, url), await open(t, url)]
    const applied = await Promise.all([migrate(one, MIGRATIONS, 0), migrate(two, MIGRATIONS, 0)])
    assert.equal(applied.flat().length, MIGRATIONS.length)
    assert.deepEqual(await migrate(one, MIGRATIONS, 0), [])
  })

  test('a process that stalls while it connects does not take the database for away', async () => {
    const address = parseDatabaseAddress(await server.createDatabase())
    const opening = openPostgres(address)
    // The connection is on its way then, and its answer comes meanwhile.
    await new Promise(setImmediate)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000)
    const sql = await opening
    await sql.close()
  })

  test('counts, sums and conditions are numbers', async (t) => {
    const sql = await open(t, await server.createDatabase())
    await notes(sql)
    for (const id of [1, 2]) await add(sql, id)
    const rows = await sql.query(statement`
      SELECT COUNT(*) AS count, SUM(id) AS sum, COUNT(*) > 1 AS are_several, MAX(id) AS max FROM notes`)
    assert.deepEqual(rows, [{ count: 2, sum: 3, are_several: 1, max: 2 }])
  })

  test('a text with U+0000 is stored without it, and finds nothing', async (t) => {
    const sql = await open(t, await server.createDatabase())
    await notes(sql)
    await add(sql, 1)
    assert.deepEqual(await sql.query(statement`SELECT id FROM notes WHERE text = ${'x\0'}`), [])
  })

  test('a statement that is used again is prepared once in its session, and lists of many lengths are not', async (t) => {
    const url = await server.createDatabase()
    const sql = await open(t, url)
    await notes(sql)
    const names = (tx: Sql) => tx.query(statement`SELECT COUNT(*) AS n FROM pg_prepared_statements`)
    for (let length = 1; length < 40; length++) {
      const ids = Array.from({ length }, (_, id) => id)
      await sql.query(statement`SELECT text FROM notes WHERE id IN (${list(ids)})`)
    }
    for (let time = 0; time < 5; time++) await sql.query(statement`SELECT text FROM notes WHERE id = ${time}`)
    assert.deepEqual(await names(sql), [{ n: 1 }])
  })

  test('transactions that exclude each other run one at a time, in all processes', async (t) => {
    const url = await server.createDatabase()
    const [one, two] = [await open(t, url), await open(t, url)]
    let inside = 0
    const enter = (sql: Sql) =>
      sql.transaction(
        async (tx) => {
          inside += 1
          await tx.query(statement`SELECT pg_sleep(0.01)`)
          assert.equal(inside, 1)
          inside -= 1
        },
        { exclusive: 'claim' },
      )
    await Promise.all(Array.from({ length: 10 }, (_, index) => enter(index % 2 ? one : two)))
  })

  test('a change reaches followers of the same process at once and others soon, and its own process gets it once', async (t) => {
    const url = await server.createDatabase()
    const [own, others]: [string[], string[]] = [[], []]
    const one = await open(t, url, { onChange: (account, name) => own.push(`${account} ${name}`) })
    await open(t, url, { onChange: (account, name) => others.push(`${account} ${name}`) })
    await until(
      async () => (await server.psql(`SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`)) >= '2',
    )
    await one.transaction(async (tx) => {
      await tx.query(statement`SELECT 1`)
      tx.notify('a', 'apps/one')
    })
    assert.deepEqual(own, ['a apps/one'])
    for (let count = 0; count < 300; count++) {
      const long = `${'n'.repeat(100)}-${count}`
      await one.transaction(async (tx) => tx.notify('a', long))
    }
    await until(() => others.length === 301)
    assert.equal(own.length, 301)
  })

  test('more changes than messages should carry are told as one: anything may have changed', async (t) => {
    const url = await server.createDatabase()
    const told: string[] = []
    const one = await open(t, url)
    await open(t, url, { onEverything: () => told.push('everything') })
    await until(
      async () => (await server.psql(`SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`)) >= '2',
    )
    await one.transaction(async (tx) => {
      for (let count = 0; count < 1000; count++) tx.notify('a', `apps/${count}`)
    })
    await until(() => told.length > 0)
  })

  test('a session that the server ends is not noticed by reads, nor by a transaction that was not being committed', async (t) => {
    const sql = await open(t, await server.createDatabase())
    await notes(sql)
    await add(sql, 1)
    const endSessions = () =>
      server.psql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'headland'`)
    await idsIn(sql)
    await endSessions()
    assert.deepEqual(await idsIn(sql), [1])
    let attempts = 0
    await sql.transaction(async (tx) => {
      attempts += 1
      await tx.query(statement`INSERT INTO notes (id) VALUES (${2})`)
      if (attempts === 1) await endSessions()
      await tx.query(statement`INSERT INTO notes (id) VALUES (${3})`)
    })
    assert.equal(attempts, 2)
    assert.deepEqual(await idsIn(sql), [1, 2, 3])
  })

  test('reads that are sent as one have rows of their own', async (t) => {
    const sql = await open(t, await server.createDatabase())
    const ask = () => sql.query(statement`SELECT 1 AS one`)
    const [first, second] = await Promise.all([ask(), ask()])
    first.pop()
    assert.deepEqual(second, [{ one: 1 }])
  })

  test('a database that does not exist is refused in words that do not show the password', async () => {
    const wrong = server.url.replace(/\/[^/]*$/, '/no_such_database')
    await assert.rejects(openPostgres(parseDatabaseAddress(wrong)), ({ message }: Error) => {
      assert.match(message, /refuses the connection: database "no_such_database" does not exist/)
      return !message.includes('correct-horse')
    })
  })
})

for (const [what, stop, start] of [
  ['stopped', (server: Postgres) => server.stop(), (server: Postgres) => server.start()],
  ['frozen', async (server: Postgres) => server.freeze(), async (server: Postgres) => server.thaw()],
] as const) {
  test(
    `while the server is ${what}, everything is refused as unavailable, and goes on when it is back`,
    NEEDS_POSTGRES,
    async (t) => {
      const server = await startPostgres(t)
      const events: string[] = []
      const sql = await openPostgres(parseDatabaseAddress(server.url), {
        onAway: () => events.push('away'),
        onBack: () => events.push('back'),
        onEverything: () => events.push('everything'),
      })
      t.after(() => sql.close())
      await sql.transaction((tx) => tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY)`))
      await sql.query(statement`SELECT id FROM notes`)
      const add = (id: number) => sql.transaction((tx) => tx.query(statement`INSERT INTO notes (id) VALUES (${id})`))
      await stop(server)
      await assert.rejects(sql.query(statement`SELECT id FROM notes`), { name: 'DatabaseAway' })
      await assert.rejects(add(1), { name: 'DatabaseAway' })
      assert.deepEqual(events, ['away'])
      await start(server)
      await until(() => events.includes('back'))
      await add(2)
      assert.ok((await sql.query(statement`SELECT id FROM notes`)).some(({ id }) => id === 2))
      if (what === 'stopped') await until(() => events.includes('everything'))
    },
  )
}

test(
  'followers are told that they missed changes, also where the server is stopped at once',
  NEEDS_POSTGRES,
  async (t) => {
    const server = await startPostgres(t)
    const missed = Promise.withResolvers<void>()
    const sql = await openPostgres(parseDatabaseAddress(server.url), { onEverything: missed.resolve })
    t.after(() => sql.close())
    await server.stop()
    await server.start()
    await missed.promise
  },
)

suite('with a server that has a certificate', NEEDS_POSTGRES, () => {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  let server: Postgres
  let ca: Ca
  before(async () => {
    ca = await startCa(scope)
    server = await startPostgres(scope, { tls: await ca.issue(['localhost'], { mustStaple: false }) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const connect = async (host: string, parameters: Record<string, string>) => {
    const url = new URL(server.url)
    url.hostname = host
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    const sql = await openPostgres(parseDatabaseAddress(url.href))
    try {
      const [row] = await sql.query(statement`SELECT ssl AS ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)
      return row?.ssl
    } finally {
      await sql.close()
    }
  }

  test('verify-full accepts the right name alone, and only of the given authority', async () => {
    const full = { sslmode: 'verify-full', sslrootcert: ca.certFile }
    assert.equal(await connect('localhost', full), 1)
    await assert.rejects(connect('127.0.0.1', full), /does not match/)
    await assert.rejects(connect('localhost', { sslmode: 'verify-full' }), /does not answer/)
  })

  test('verify-ca accepts any name, require any certificate, and disable does without', async () => {
    assert.equal(await connect('127.0.0.1', { sslmode: 'verify-ca', sslrootcert: ca.certFile }), 1)
    await assert.rejects(connect('127.0.0.1', { sslmode: 'verify-ca' }), /does not answer/)
    assert.equal(await connect('127.0.0.1', { sslmode: 'require' }), 1)
    assert.equal(await connect('127.0.0.1', { sslmode: 'disable' }), 0)
  })
})
