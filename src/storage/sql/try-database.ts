/** Whether the database can be written, read and deleted from, and how long each takes. What it writes is gone afterwards. */
import { randomUUID } from 'node:crypto'
import { type Sql, statement } from './sql.ts'

export type DatabaseTrial = { writeMs: number; readMs: number; deleteMs: number }

export async function tryDatabase(sql: Sql): Promise<DatabaseTrial> {
  const name = `trial-${randomUUID()}`
  const writeMs = await timed(() =>
    sql.transaction((tx) => tx.query(statement`INSERT INTO instance (name, value) VALUES (${name}, 'trial')`)),
  )
  try {
    const readMs = await timed(async () => {
      const [row] = await sql.query(statement`SELECT value FROM instance WHERE name = ${name}`)
      if (row?.value !== 'trial') throw new Error('what was written is not what is read')
    })
    return { writeMs, readMs, deleteMs: await timed(remove) }
  } catch (error) {
    await remove()
    throw error
  }

  async function remove() {
    await sql.transaction((tx) => tx.query(statement`DELETE FROM instance WHERE name = ${name}`))
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
