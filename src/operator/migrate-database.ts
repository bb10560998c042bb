/** Moves the rows of a data folder from SQLite to PostgreSQL or back, while no service runs. */
import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { parseDatabaseAddress } from '../base/index.ts'
import { EXIT, optionText, Refused, UsageError } from '../contract/index.ts'
import { copyToPostgres, copyToSqlite, type Sql, type TableFacts } from '../storage/index.ts'
import type { CommandCall, DataFolder } from './command.ts'

export async function migrateDatabase({ options, folder, print }: CommandCall): Promise<number> {
  const to = optionText(options, 'to')
  if (to === undefined) throw new UsageError("'headland migrate-database' needs --to: postgres or sqlite")
  const release = await folder.lock()
  try {
    const tables = to === 'sqlite' ? await toSqlite(folder) : await toPostgres(folder, addressOf(to, folder))
    const count = tables.reduce((sum, table) => sum + table.count, 0)
    const next =
      to === 'sqlite'
        ? 'Remove the setting databaseUrl, and start the service. The rows in PostgreSQL were not changed.'
        : `Start the service with the setting databaseUrl. ${folder.movedDatabase} is what ${folder.database} was.`
    const words = `${count.toLocaleString('en')} rows of ${tables.length} tables were copied and compared. ${next}`
    print(options.json === true ? JSON.stringify({ rows: count, tables }) : words)
  } finally {
    release()
  }
  return EXIT.done
}

/** With `--to postgres` that of the setting, which other users of the machine do not see. */
function addressOf(to: string, { databaseUrl }: DataFolder): string {
  if (to !== 'postgres') return checked(to)
  if (!databaseUrl) throw new UsageError('--to postgres uses the setting databaseUrl, which is not set')
  return databaseUrl.reveal()
}

function checked(address: string): string {
  try {
    parseDatabaseAddress(address)
    return address
  } catch (error) {
    throw new UsageError(`--to is postgres, sqlite, or an address: ${(error as Error).message}`)
  }
}

async function toPostgres(folder: DataFolder, address: string): Promise<TableFacts[]> {
  if (!existsSync(folder.database)) throw new Refused(`There is no database in ${folder.dataDir}.`)
  const tables = await withBoth(folder.openSql(folder.database), folder.openPostgres(address), copyToPostgres)
  // From here on both have the rows. A service that finds both refuses to start, and says why.
  await rename(folder.database, folder.movedDatabase)
  return tables
}

async function toSqlite(folder: DataFolder): Promise<TableFacts[]> {
  const { database, databaseUrl } = folder
  if (!databaseUrl) throw new UsageError('--to sqlite copies from the setting databaseUrl, which is not set')
  if (existsSync(database)) throw new Refused(`${database} is there already. Move it away first.`)
  const draft = `${database}.draft`
  await removeDraft(draft)
  await writeFile(draft, '', { mode: 0o600 })
  try {
    const tables = await withBoth(folder.openPostgres(databaseUrl.reveal()), folder.openSql(draft), copyToSqlite)
    await rename(draft, database)
    return tables
  } finally {
    await removeDraft(draft)
  }
}

const removeDraft = (draft: string) =>
  Promise.all(['', '-wal', '-shm'].map((end) => rm(`${draft}${end}`, { force: true })))

async function withBoth<T>(
  first: Promise<Sql>,
  second: Promise<Sql>,
  work: (a: Sql, b: Sql) => Promise<T>,
): Promise<T> {
  const opened = await Promise.allSettled([first, second])
  try {
    const [one, two] = opened.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    }) as [Sql, Sql]
    return await work(one, two)
  } finally {
    for (const result of opened) if (result.status === 'fulfilled') await result.value.close()
  }
}
