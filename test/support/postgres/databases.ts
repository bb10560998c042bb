/**
 * Which database the tests use: SQLite, or with TEST_DATABASE=postgres a PostgreSQL that is started for the test file. Tests
 * that are about one of them choose it themselves.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { MIGRATIONS, migrate } from '../../../src/storage/index.ts'
import { type Postgres, startPostgres } from './server.ts'

export const usesPostgres = process.env.TEST_DATABASE === 'postgres'

/** The option of a test that is about SQLite. */
export const OF_SQLITE = { skip: usesPostgres ? 'is about SQLite' : false }

let server: Promise<Postgres> | undefined

const MIGRATED = 'migrated'

/** One for all tests of a file, each of which has a database of its own. */
export function sharedPostgres(): Promise<Postgres> {
  // Other migrations make another cluster.
  const name = `postgresql-15-${createHash('sha256').update(JSON.stringify(MIGRATIONS)).digest('hex').slice(0, 16)}`
  server ??= startPostgres({ after: (end) => ends.unshift(end) }, { prepared: { name, fill } })
  return server
}

async function fill({ psql, urlOf }: { psql: Postgres['psql']; urlOf(database: string): string }) {
  const { openPostgres } = await import('../../../src/storage/sql/postgres/postgres.ts')
  await psql(`CREATE DATABASE ${MIGRATED} TEMPLATE template0`)
  const sql = await openPostgres(parseDatabaseAddress(urlOf(MIGRATED)))
  await migrate(sql, MIGRATIONS, systemClock.now())
  await sql.close()
}

/** The address of a new database of the shared server, migrated: all migrations take longer than most tests. */
export const createMigrated = async (): Promise<string> => (await sharedPostgres()).createDatabase(`/${MIGRATED}`)

const ends: (() => unknown)[] = []
if (usesPostgres) {
  after(async () => {
    for (const end of ends) await end()
  })
}

const urls = new Map<string, Promise<string>>()

/** The address of the database of this data folder: a new one for a new folder. Undefined where the tests use SQLite. */
export function databaseUrlOf(dataDir: string): Promise<string> | undefined {
  if (!usesPostgres) return undefined
  const url = urls.get(dataDir) ?? createMigrated()
  urls.set(dataDir, url)
  return url
}

/** The settings with which a command finds the database of this data folder. */
export async function databaseSettings(dataDir: string): Promise<{ HEADLAND_DATABASE_URL?: string }> {
  const url = await databaseUrlOf(dataDir)
  return url === undefined ? {} : { HEADLAND_DATABASE_URL: url }
}

/** Everything that the database of this data folder has, as bytes to search in. */
export async function databaseBytes(dataDir: string): Promise<Buffer> {
  const url = await databaseUrlOf(dataDir)
  if (url !== undefined) return Buffer.from(await (await sharedPostgres()).dump(url))
  const names = (await readdir(dataDir)).filter((name) => name.startsWith('headland.db'))
  return Buffer.concat(await Promise.all(names.map((name) => readFile(join(dataDir, name)))))
}
