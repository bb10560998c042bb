/**
 * The database of a service that was started once: migrated, with the account and the owner of a first start. Made by the first
 * test that needs it, for all test files: a first start takes a third of its CPU time for the migrations and for the hash of
 * the owner's password. The keys of the service are not in it, so each service still makes its own.
 */
import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createAccounts, createUsers } from '../../../src/accounts/index.ts'
import { createIds, systemClock } from '../../../src/base/index.ts'
import { MIGRATIONS, migrate } from '../../../src/storage/index.ts'
import { openSqlite } from '../../../src/storage/sql/sqlite.ts'

export type Owner = { email: string; password: string }

const CACHE = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'test-databases')

const DATABASE = 'headland.db'
const OWNER = 'owner.json'

/** Makes the database of a new data folder a copy of the prepared one, and tells who owns its account. */
export async function putPreparedDatabase(dataDir: string): Promise<Owner> {
  const prepared = join(CACHE, name())
  const owner = await readOwner(prepared).catch(async (error) => {
    if (error.code !== 'ENOENT') throw error
    await prepare(prepared)
    return readOwner(prepared)
  })
  await copyFile(join(prepared, DATABASE), join(dataDir, DATABASE))
  return owner
}

const readOwner = async (prepared: string): Promise<Owner> => JSON.parse(await readFile(join(prepared, OWNER), 'utf8'))

/** Other migrations make another database. */
const name = (): string => createHash('sha256').update(JSON.stringify(MIGRATIONS)).digest('hex').slice(0, 16)

async function prepare(prepared: string) {
  await mkdir(CACHE, { recursive: true })
  const draft = await mkdtemp(`${prepared}-`)
  const file = join(draft, DATABASE)
  // Readable by the service alone, as it makes it itself.
  await writeFile(file, '', { mode: 0o600 })
  const owner = await fill(file)
  await writeFile(join(draft, OWNER), JSON.stringify(owner))
  // Another test file may have prepared it meanwhile.
  await rename(draft, prepared).catch(async (error) => {
    await rm(draft, { recursive: true })
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
}

async function fill(file: string): Promise<Owner> {
  const sql = await openSqlite(file)
  try {
    await migrate(sql, MIGRATIONS, systemClock.now())
    const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
    const users = createUsers({ ...parts, accounts: createAccounts(parts) })
    const email = 'owner@localhost'
    const { password } = await users.create(email, 'default', 'owner', { makeAccount: true })
    return { email, password: password?.reveal() ?? '' }
  } finally {
    await sql.close()
    moveLogIn(file)
  }
}

/** What the file beside it still holds is moved to it: only one file is copied. */
function moveLogIn(file: string) {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}
