import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedSql } from '../../../test/support/sql.ts'
import { type Sql, statement, type Transaction } from '../../storage/index.ts'
import { createTogether } from './together.ts'

/** Counts the transactions of a real database. */
function counting(sql: Sql) {
  const counts = { transactions: 0 }
  const counted: Sql = {
    ...sql,
    transaction(work, options) {
      counts.transactions += 1
      return sql.transaction(work, options)
    },
  }
  return { counts, sql: counted }
}

const insert = (name: string) => (tx: Transaction) =>
  tx.query(statement`INSERT INTO instance (name, value) VALUES (${name}, 'x')`)

const namesIn = async (sql: Sql) =>
  (await sql.query(statement`SELECT name FROM instance WHERE value = 'x' ORDER BY name`)).map(({ name }) => name)

test('what comes while a transaction runs is committed by the next one', async (t) => {
  const { counts, sql } = counting(await migratedSql(t))
  const together = createTogether(sql)
  const names = Array.from({ length: 30 }, (_, number) => `name ${number}`)
  await Promise.all(names.map((name) => together(insert(name))))
  assert.deepEqual([counts.transactions, await namesIn(sql)], [2, names.toSorted()])
})

test('what is wrong with one write is not a fault of the others', async (t) => {
  const { sql } = counting(await migratedSql(t))
  const together = createTogether(sql)
  await together(insert('a'))
  const wrong = assert.rejects(together(insert('a')))
  const others = Promise.all(['b', 'c', 'd'].map((name) => together(insert(name))))
  const refused = assert.rejects(
    together(() => Promise.reject(new Error('wrong'))),
    /wrong/,
  )
  await Promise.all([wrong, others, refused])
  assert.deepEqual(await namesIn(sql), ['a', 'b', 'c', 'd'])
})

test('each caller gets the result of its own work', async (t) => {
  const together = createTogether(await migratedSql(t))
  const results = await Promise.all([1, 2, 3, 4].map((number) => together(async () => number)))
  assert.deepEqual(results, [1, 2, 3, 4])
})
