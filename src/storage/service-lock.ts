/**
 * One service at a time works on a data folder. The lock is a write transaction of SQLite that stays open: the kernel
 * releases it when the process ends, however it ends, and another process can still read who holds it.
 */
import { DatabaseSync } from 'node:sqlite'

export class DataFolderInUse extends Error {}

const TABLE = 'CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)'

/** Returns the function that releases the lock. Throws `DataFolderInUse` while another process holds it. */
export function lockDataFolder(dataDir: string, file: string): () => void {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec(`BEGIN IMMEDIATE; ${TABLE}; DELETE FROM holder`)
    database.prepare('INSERT INTO holder (pid) VALUES (?)').run(process.pid)
    // The row has to be committed to be seen, and the lock must not be free in between for longer than this.
    database.exec('COMMIT; BEGIN IMMEDIATE')
  } catch (error) {
    const pid = isBusy(error) ? holderIn(database) : undefined
    database.close()
    if (!isBusy(error)) throw error
    throw new DataFolderInUse(
      `The data folder ${dataDir} is in use by another service${pid === undefined ? '' : ` (process ${pid})`}. Stop that one first, or set another dataDir for this one. Commands such as headland backup can be run beside a service.`,
    )
  }
  return () => database.close()
}

function holderIn(database: DatabaseSync): number | undefined {
  try {
    return database.prepare('SELECT pid FROM holder').get()?.pid as number | undefined
  } catch (error) {
    // The other process is just writing its row.
    if (isBusy(error) || isEmpty(error)) return undefined
    throw error
  }
}

const SQLITE_BUSY = 5

const isBusy = (error: unknown): boolean => (error as { errcode?: number }).errcode === SQLITE_BUSY
const isEmpty = (error: unknown): boolean => /no such table/.test((error as Error).message)
