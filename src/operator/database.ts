/** The database as the doctor and backups see it: in the data folder, or PostgreSQL. */
import { existsSync } from 'node:fs'
import { databaseUrlWithoutPassword, parseDatabaseAddress } from '../base/index.ts'
import { type Sql, tryDatabase } from '../storage/index.ts'
import type { DataFolder, Finding } from './command.ts'

/** Undefined where there is none yet. It is not migrated. */
export async function openStored({
  database,
  databaseUrl,
  openSql,
  openPostgres,
}: DataFolder): Promise<Sql | undefined> {
  if (databaseUrl) return openPostgres(databaseUrl.reveal())
  return existsSync(database) ? openSql(database) : undefined
}

const NO_TABLE = /no such table|relation .* does not exist/

/** The tables are made by the first start. */
export const isWithoutTables = (error: unknown): boolean => NO_TABLE.test((error as Error).message)

export async function databaseFinding(folder: DataFolder): Promise<Finding> {
  const part = 'database'
  const kind = folder.databaseUrl ? placeOf(folder) : 'SQLite'
  let sql: Sql | undefined
  try {
    sql = await openStored(folder)
    if (!sql) return { part, state: 'ok', found: `${kind} (made at the first start)`, advice: '' }
    const { writeMs, readMs, deleteMs } = await tryDatabase(sql)
    const found = `${kind}: write ${inMs(writeMs)}, read ${inMs(readMs)}, delete ${inMs(deleteMs)}`
    return { part, state: 'ok', found, advice: '' }
  } catch (error) {
    if (isWithoutTables(error)) return { part, state: 'ok', found: `${kind}: empty until the first start`, advice: '' }
    const advice = folder.databaseUrl ? 'Check that PostgreSQL runs, and databaseUrl.' : 'Check the data folder first.'
    return { part, state: 'broken', found: (error as Error).message.replaceAll(/\s+/g, ' '), advice }
  } finally {
    await sql?.close()
  }
}

const inMs = (ms: number): string => `${ms.toFixed(1)} ms`

/** Undefined if the rows are in the data folder. */
export function dumpCommand(folder: DataFolder): string | undefined {
  return folder.databaseUrl && `pg_dump --format=custom --file=headland.dump '${placeOf(folder)}'`
}

const placeOf = ({ databaseUrl }: DataFolder): string =>
  databaseUrl ? databaseUrlWithoutPassword(parseDatabaseAddress(databaseUrl.reveal())) : ''
