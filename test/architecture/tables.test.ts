/** The walls between modules hold for SQL too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foreignTables, isMigration, readOwners, tablesIn } from '../support/architecture/tables.ts'
import { readText, sourcesIn } from '../support/architecture/tree.ts'

const service = await sourcesIn('src')
const owners = readOwners(await readText('ARCHITECTURE.md'))

test('every table of the database has one module that it belongs to', () => {
  const tables = tablesIn(service.filter(({ path }) => isMigration(path)))
  assert.deepEqual([...owners.keys()].toSorted(), tables.toSorted())
})

test('a module has statements on its own tables only', () => {
  assert.deepEqual(foreignTables(service, owners), [])
})

const TABLE = `
| module | tables |
|---|---|
| \`builds/\` | \`builds\`, \`packages\` |
| \`apps/\` | \`environments\` |

| \`edge/\` | \`not of the table\` |
`
const small = readOwners(TABLE)

test('the table of owners is read row by row, up to its end', () => {
  assert.deepEqual(
    [...small],
    [
      ['builds', 'builds/'],
      ['packages', 'builds/'],
      ['environments', 'apps/'],
    ],
  )
  assert.throws(() => readOwners('no table'), /no table/)
  assert.throws(() => readOwners(TABLE.replace('`packages`', '`builds`')), /twice/)
})

const FOREIGN = [
  'statement`SELECT id FROM environments`',
  'statement`SELECT b.id FROM builds b JOIN environments e ON e.id = b.environment_id`',
  'statement`INSERT INTO environments (id) VALUES (1)`',
  'statement`UPDATE environments SET id = 1`',
  'statement`DELETE FROM environments`',
  'statement`SELECT 1 WHERE EXISTS (\n  SELECT 1\n  FROM\n  environments)`',
]

for (const text of FOREIGN) {
  test(`the rules refuse of builds: ${text.replaceAll(/\s+/g, ' ')}`, () => {
    assert.equal(foreignTables([{ path: 'src/builds/builds.ts', text }], small).length, 1)
    assert.deepEqual(foreignTables([{ path: 'src/builds/builds.test.ts', text }], small), [])
  })
}

test('a table that a migration renames or drops is known by what is left', () => {
  const first = 'sql`CREATE TABLE a (id)`, sql`CREATE TABLE b (id)`, sql`CREATE TABLE c (id)`'
  const second = 'sql`DROP TABLE b`, sql`ALTER TABLE c RENAME TO d`'
  const migrations = [
    { path: 'src/storage/sql/migrations/0002.ts', text: second },
    { path: 'src/storage/sql/migrations/0001.ts', text: first },
  ]
  assert.deepEqual(tablesIn(migrations), ['a', 'd'])
})
