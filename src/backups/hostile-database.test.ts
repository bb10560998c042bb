/** Hostile databases, restored with --trust or a stolen key: nothing in them is executed, and no row is trusted. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import {
  assertNotRestored,
  assertRefused,
  attempt,
  type Backup,
  makeBackup,
  packed,
  pieces,
  withDatabase,
} from '../../test/support/modules/backup.ts'
import { type Statement, statement } from '../storage/index.ts'
import { openSqliteApart } from '../storage/sql/sqlite.ts'
import { restore } from './restore/restore.ts'

let made: Backup
const ends: (() => unknown)[] = []
after(() => Promise.all(ends.map((end) => end())))
before(async () => {
  made = await makeBackup({ after: (end) => ends.push(end) })
})

/** Packed with the right key, so that only the database is wrong. */
async function withSql(t: TestContext, text: string): Promise<Buffer> {
  const entries = await withDatabase(t, made, async (file) => {
    const database = new DatabaseSync(file, { enableForeignKeyConstraints: false })
    database.enableDefensive(false)
    database.exec(text)
    database.close()
  })
  return packed(entries, made.key)
}

const ENDLESS = 'WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) AS id FROM n'

const SCHEMAS: Record<string, string> = {
  'a view that never ends, in place of a table': `DROP TABLE holds; CREATE VIEW holds AS ${ENDLESS}`,
  'a view in place of the list of migrations': `DROP TABLE schema_migrations; CREATE VIEW schema_migrations AS ${ENDLESS}`,
  'a view beside the tables': `CREATE VIEW other AS ${ENDLESS}`,
  'a trigger': "CREATE TRIGGER t AFTER UPDATE ON operations BEGIN UPDATE users SET password_hash = 'x'; END",
  'a trigger that calls itself an index': `
    CREATE TRIGGER t AFTER UPDATE ON operations BEGIN UPDATE users SET password_hash = 'x'; END;
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET type = 'index' WHERE name = 't'`,
  'a trigger under the name of an index': `
    DROP INDEX sessions_of_user;
    CREATE TRIGGER t AFTER UPDATE ON operations BEGIN UPDATE users SET password_hash = 'x'; END;
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET type = 'index', name = 'sessions_of_user' WHERE name = 't'`,
  'a table too many': 'CREATE TABLE other (id TEXT)',
  'a virtual table': 'CREATE VIRTUAL TABLE other USING fts5 (text)',
  'an index of an expression': 'CREATE INDEX other ON apps (abs(create_time))',
  'a column that is computed': "ALTER TABLE holds ADD COLUMN x TEXT AS ('x' || id)",
  'another default': `
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, 'draft TEXT', 'draft TEXT DEFAULT (hex(zeroblob(1000000000)))') WHERE name = 'holds'`,
  'a table too few': 'DROP TABLE traffic',
}

for (const [what, text] of Object.entries(SCHEMAS)) {
  test(`a database with ${what} is refused before anything is asked of it`, async (t) => {
    const why = /its database cannot be used \(.*(?:not of Headland's making|which every Headland makes|malformed)/
    await assertRefused(t, await withSql(t, text), why, { key: made.key, isTrusted: true })
  })
}

test('a name of a hostile database is shown without what a terminal would act upon', async (t) => {
  const tar = await withSql(t, 'CREATE VIEW "\x1b[2J\u009b31m\u202e" AS SELECT 1')
  const why = /the view "\\u001b\[2J\\u009b31m\\u202e", which is not of Headland's making/
  await assertRefused(t, tar, why, { key: made.key, isTrusted: true })
})

/** Inserts a row of the key-value store. */
const valueRow = (name: string, digest: string, body: string): string => `
  INSERT INTO kv_values (environment_id, name, bytes, digest, body, store_time, use_time)
  SELECT id, ${name}, 4096, ${digest}, ${body}, 1, 1 FROM environments LIMIT 1`

/** A stored plan with one change. */
const chunkRow = (name: string, number: string, lines: string): string => `
  INSERT INTO log_chunks (log_name, first_number, last_number, bytes, write_id, lines)
  VALUES (${name}, ${number}, ${number}, 0, '', ${lines})`

const plan = (change: object): string =>
  JSON.stringify({
    rootDirectory: '',
    install: null,
    caches: { compile: [], data: [] },
    output: { kind: 'server', folder: '.', copies: [], start: { argv: ['node'] }, writable: [], ...change },
  })

const ROWS: Record<string, string> = {
  'an environment that is root': 'UPDATE environments SET uid = 0',
  'an environment with a user of the machine': 'UPDATE environments SET uid = 1000',
  'an environment with a user that is a number of another kind': 'UPDATE environments SET uid = 200001.5',
  'an environment with a user that is text': "UPDATE environments SET uid = '0x0'",
  'a next user that is root': "UPDATE revisions SET value = -1 WHERE name = 'uids'",
  'a next user that is taken': "UPDATE revisions SET value = 200000 WHERE name = 'uids'",
  'no next user': "DELETE FROM revisions WHERE name = 'uids'",
  'an id that is a path': "UPDATE environments SET id = '../../../etc'",
  'an id behind a NUL': "UPDATE environments SET id = 'a' || char(0) || '/../../etc'",
  'an id of bytes': "UPDATE builds SET id = x'2e2e2f'",
  'a root directory that leads up': "UPDATE environments SET root_directory = 'a/../..'",
  'an environment with too many instances': `
    UPDATE environments SET scaling = '{"minInstances":900,"maxInstances":900,"requestsPerInstance":1}'`,
  'a number of instances that is text': `
    UPDATE environments SET scaling = '{"minInstances":0,"maxInstances":"1","requestsPerInstance":1}'`,
  'no numbers of instances where they should be': "UPDATE environments SET scaling = 'null'",
  'an index of files that is a path': "UPDATE deployments SET earlier_index = '../../../secret.index'",
  'a password whose comparison takes all memory': `
    UPDATE environments SET protection = '{"passwordHash":"scrypt$1073741824$8$3$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","addresses":[]}'`,
  'a protection that protects nothing': `UPDATE environments SET protection = '{"passwordHash":null,"addresses":"::/0"}'`,
  'a certificate whose names are no list': `INSERT INTO certificates (id, source, names, state, create_time, update_time)
    VALUES ('a', 'UPLOADED', '{"length":1}', 'ISSUED', 0, 0)`,
  'a value under a name that is a path': valueRow("'../../../etc/passwd'", 'NULL', "'eA=='"),
  'a value whose digest is a path': valueRow(`'${'a'.repeat(64)}'`, "'sha256:../../../../etc'", 'NULL'),
  'a value of many megabytes in a row': valueRow(`'${'a'.repeat(64)}'`, 'NULL', 'hex(zeroblob(3000000))'),
  'rules of a firewall that are a program': `INSERT INTO node_rules (name, revision, rules) VALUES ('isolation', 1, '{"edges":["1.2.3.4; drop"]}')`,
  'a node whose id is none': "INSERT INTO cluster_nodes (id) VALUES ('../n1')",
  'a token whose generation is text': "INSERT INTO join_tokens (role, name, generation) VALUES ('edge', 'a', 'x')",
  'lines of a log that is a path': chunkRow("'../../../etc'", '1', "''"),
  'lines whose number is text': chunkRow("'builds/a'", "'x'", "''"),
  'lines of many megabytes in a row': chunkRow("'builds/a'", '1', 'hex(zeroblob(3000000))'),
  'a log whose next number is no number': `
    INSERT INTO log_heads (log_name, last_number, open_number, open_bytes, closed_bytes, loose_number, loose_count, loose_bytes)
    VALUES ('builds/a', 1e300, 1, 0, 0, 1, 0, 0)`,
  'a term after which none can come':
    "INSERT INTO leadership (name, term, holder, time) VALUES ('control', 2147483647, '', 0)",
  'a host with a slash': "UPDATE environments SET host_label = 'a/b'",
  'a digest that is a path': "UPDATE builds SET output_digest = 'sha256:../../../../etc'",
  'an archive that is a path': "UPDATE builds SET archive_digest = '/etc/shadow'",
  'packages that are a path': `
    UPDATE packages SET id = '../..'; UPDATE builds SET packages_id = '../..' WHERE packages_id IS NOT NULL`,
  'a plan that is writable elsewhere': `UPDATE builds SET plan = '${plan({ writable: ['../../../../etc'] })}'`,
  'a plan that is writable at the top': `UPDATE builds SET plan = '${plan({ writable: ['/etc'] })}'`,
  'a plan whose output lies elsewhere': `UPDATE builds SET plan = '${plan({ folder: 'a/../../b' })}'`,
  'a plan of a wrong type': "UPDATE builds SET plan = '[]'",
  'a plan that is not even JSON': "UPDATE builds SET plan = '{'",
  'a plan that starts something that is no list of words': `UPDATE builds SET plan = '${plan({ start: { argv: [{}] } })}'`,
  'tools that are a path': `UPDATE builds SET tools = '{"node":"../../../../tmp/x","packageManager":null}'`,
  'a hold that is a path': "INSERT INTO holds (id, until, draft) VALUES ('/../../../etc', 0, NULL)",
}

for (const [what, text] of Object.entries(ROWS)) {
  test(`a database with ${what} is refused, authenticated or not`, async (t) => {
    const why = /its database cannot be used \(/
    // A check reads rows as a restore does; that both refuse a database is shown above.
    await assertNotRestored(t, await withSql(t, text), why, { key: made.key, isTrusted: true })
  })
}

test('a question that never ends is ended by an interruption, and nothing is left behind', async (t) => {
  const top = await temporaryFolder(t)
  const dataDir = join(top, 'data')
  const stopping = new AbortController()
  const endless: Statement = statement`
    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) AS id FROM n`
  async function openForeignSql(file: string, options: { signal?: AbortSignal | undefined }) {
    const sql = await openSqliteApart(file, options)
    return {
      ...sql,
      query() {
        setImmediate(() => {
          stopping.abort(new Error('enough'))
          // The query is sent in the same turn of the loop, to a process that is dead without being noticed yet.
          while (hasLivingChild()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
        })
        return sql.query(endless) as never
      },
    }
  }
  const parts = { dataDir, keys: { file: join(dataDir, 'master.key'), given: made.key }, openForeignSql }
  await assert.rejects(restore(parts, pieces(made.tar), { signal: stopping.signal }), /enough/)
  assert.deepEqual(await readdir(top), [])
})

function hasLivingChild(): boolean {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ')
  // The first thread may be a zombie while others still have the files open.
  return children.some((pid) => pid !== '' && !/^State:\s+Z.*^Threads:\s+1$/ms.test(statusOf(pid)))
}

function statusOf(pid: string): string {
  return readFileSync(`/proc/${pid}/status`, 'utf8')
}

test('a backup as it was made is restored', async (t) => {
  const { done } = await attempt(t, await withSql(t, 'SELECT 1'), { key: made.key })
  assert.deepEqual((await done).missing, [])
})
