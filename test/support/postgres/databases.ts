/**
 * Which database the tests use: SQLite, or with TEST_DATABASE=postgres a PostgreSQL that is started for the test file. Tests
 * that are about one of them choose it themselves.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Postgres, startPostgres } from './server.ts'

export const usesPostgres = process.env.TEST_DATABASE === 'postgres'

/** The option of a test that is about SQLite. */
export const OF_SQLITE = { skip: usesPostgres ? 'is about SQLite' : false }

let server: Promise<Postgres> | undefined

/** One for all tests of a file, each of which has a database of its own. */
export function sharedPostgres(): Promise<Postgres> {
  server ??= startPostgres({ after: (end) => ends.unshift(end) })
  return server
}

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
  const url = urls.get(dataDir) ?? sharedPostgres().then((server) => server.createDatabase())
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
