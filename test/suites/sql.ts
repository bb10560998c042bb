/** What every database behind `Sql` must do. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { list, type Sql, statement } from '../../src/storage/index.ts'

/** Opens the same database each time it is called within one test: two connections are two processes' views. */
export type OpenSql = (t: TestContext) => Promise<() => Promise<Sql>>

export function sqlSuite(adapter: string, prepare: OpenSql) {
  async function notes(t: TestContext): Promise<{ sql: Sql; another: () => Promise<Sql> }> {
    const open = await prepare(t)
    const sql = await open()
    await sql.transaction((tx) => tx.query(statement`CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT)`))
    return { sql, another: open }
  }
  const add = (sql: Sql, id: number, text: string | null) =>
    sql.transaction((tx) => tx.query(statement`INSERT INTO notes (id, text) VALUES (${id}, ${text})`))
  const count = async (sql: Sql) => (await sql.query(statement`SELECT COUNT(*) AS n FROM notes`))[0]?.n

  suite(`${adapter} as Sql`, () => {
    test('a value stays a value, whatever it looks like', async (t) => {
      const { sql } = await notes(t)
      const nasty = `'); DROP TABLE notes; -- $1 ? ?1 :x 😀`
      await add(sql, 1, nasty)
      await add(sql, 2, null)
      assert.deepEqual(
        (await sql.query(statement`SELECT text FROM notes ORDER BY id`)).map(({ text }) => text),
        [nasty, null],
      )
    })

    test('a statement inside a statement is spliced in with its values in order', async (t) => {
      const { sql } = await notes(t)
      for (const id of [1, 2, 3, 4]) await add(sql, id, `note ${id}`)
      const condition = statement`id > ${1} AND id IN (${list([1, 3, 4])})`
      const rows = await sql.query(statement`SELECT id FROM notes WHERE ${condition} AND text <> ${'note 4'}`)
      assert.deepEqual(
        rows.map(({ id }) => id),
        [3],
      )
    })

    test('times in milliseconds come back as the numbers they were', async (t) => {
      const { sql } = await notes(t)
      const time = Date.UTC(2100, 0, 1)
      await add(sql, time, null)
      assert.equal((await sql.query(statement`SELECT id FROM notes`))[0]?.id, time)
    })

    test('a transaction whose work throws leaves nothing', async (t) => {
      const { sql } = await notes(t)
      const failing = sql.transaction(async (tx) => {
        await tx.query(statement`INSERT INTO notes (id) VALUES (${1})`)
        throw new Error('changed my mind')
      })
      await assert.rejects(failing, /changed my mind/)
      assert.equal(await count(sql), 0)
    })

    test('a statement that fails inside a transaction can be seen, and the rest is rolled back', async (t) => {
      const { sql } = await notes(t)
      const failing = sql.transaction(async (tx) => {
        await tx.query(statement`INSERT INTO notes (id) VALUES (${1})`)
        await tx.query(statement`INSERT INTO notes (id) VALUES (${1})`)
      })
      await assert.rejects(failing, /UNIQUE|duplicate/)
      assert.equal(await count(sql), 0)
    })

    test('a reader does not see what is not committed, and sees it once it is', async (t) => {
      const { sql } = await notes(t)
      await sql.transaction(async (tx) => {
        await tx.query(statement`INSERT INTO notes (id) VALUES (${1})`)
        assert.equal(await count(sql), 0)
      })
      assert.equal(await count(sql), 1)
    })

    test('transactions that read and then write do not lose each other', async (t) => {
      const { sql, another } = await notes(t)
      const other = await another()
      await add(sql, 1, '0')
      const increment = (on: Sql) =>
        on.transaction(async (tx) => {
          const [row] = await tx.query<{ text: string }>(statement`SELECT text FROM notes WHERE id = ${1}`)
          await tx.query(statement`UPDATE notes SET text = ${String(Number(row?.text) + 1)} WHERE id = ${1}`)
        })
      await Promise.all(Array.from({ length: 40 }, (_, index) => increment(index % 2 ? sql : other)))
      assert.equal((await sql.query(statement`SELECT text FROM notes`))[0]?.text, '40')
    })

    test('what another connection committed is seen', async (t) => {
      const { sql, another } = await notes(t)
      await add(await another(), 7, 'from elsewhere')
      assert.equal(await count(sql), 1)
    })

    test('writing outside a transaction is refused', async (t) => {
      const { sql } = await notes(t)
      await assert.rejects(sql.query(statement`INSERT INTO notes (id) VALUES (${1})`))
      assert.equal(await count(sql), 0)
    })

    test('a transaction used after its end is refused', async (t) => {
      const { sql } = await notes(t)
      const leaked = await sql.transaction(async (tx) => tx)
      await assert.rejects(leaked.query(statement`INSERT INTO notes (id) VALUES (${1})`), /after its end/)
      assert.equal(await count(sql), 0)
    })

    test('ON CONFLICT DO NOTHING RETURNING distinguishes a new row from a known one', async (t) => {
      const { sql } = await notes(t)
      const insert = () =>
        sql.transaction((tx) =>
          tx.query(statement`INSERT INTO notes (id) VALUES (${1}) ON CONFLICT (id) DO NOTHING RETURNING id`),
        )
      assert.equal((await insert()).length, 1)
      assert.equal((await insert()).length, 0)
    })

    test('after close every query is refused and none hangs', async (t) => {
      const { sql } = await notes(t)
      await sql.close()
      await assert.rejects(sql.query(statement`SELECT 1`), { name: 'StorageUnavailable' })
      await assert.rejects(
        sql.transaction((tx) => tx.query(statement`SELECT 1`)),
        { name: 'StorageUnavailable' },
      )
      await sql.close()
    })
  })
}
