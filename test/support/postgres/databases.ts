/**
 * Which database the tests use: SQLite, or with TEST_DATABASE=postgres a PostgreSQL that is started for the test file. Tests
 * that are about one of them choose it themselves.
 */
import { after } from 'node:test'
import { type Postgres, startPostgres } from './server.ts'

export const usesPostgres = process.env.TEST_DATABASE === 'postgres'

let server: Promise<Postgres> | undefined

/** One for all tests of a file, each of which has a database of its own. */
export function sharedPostgres(): Promise<Postgres> {
  server ??= startPostgres({ after: (end) => ends.unshift(end) })
  return server
}

const ends: (() => unknown)[] = []
after(async () => {
  for (const end of ends) await end()
})

/** The address of a new and empty database. */
export const newDatabase = async (): Promise<string> => (await sharedPostgres()).createDatabase()
