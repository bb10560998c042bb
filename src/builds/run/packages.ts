/**
 * Installed packages: immutable folders, stored once and mounted as a lower layer of every build and running app that uses
 * them. A build claims them in the database before it uses them, and before new ones are in place, so that no other process
 * removes them. Packages without a reference are garbage and are removed.
 */
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, type Clock, checkId, type NewId, removeTree } from '../../base/index.ts'
import { hasRetentionHold, type Sql, statement, type Transaction } from '../../storage/index.ts'
import type { Size } from './untrusted-folder.ts'

export type Packages = Size & {
  id: string
  /** A digest of the inputs that they were installed from; their own id where no lockfile tells the versions. */
  wanted: string
}

/** How `wanted` begins where the app has no lockfile, and the package manager has written one. */
export const UNLOCKED = 'unlocked-'

type Parts = { sql: Sql; clock: Clock; newId: NewId; folder: string }

export function createPackageStore({ sql, clock, newId, folder }: Parts) {
  const folderOf = (id: string): string => join(folder, checkId(id))

  return {
    folderOf,
    newId,

    /** The newest that were installed from the same inputs. */
    async find(wanted: string): Promise<Packages | undefined> {
      const [found] = await sql.query<Packages>(
        statement`SELECT id, wanted, files, bytes FROM packages WHERE wanted = ${wanted} ORDER BY id DESC LIMIT 1`,
      )
      return found && (await this.has(found.id)) ? found : undefined
    },
    async has(id: string): Promise<boolean> {
      return (await lookAt(folderOf(id)))?.isDirectory() === true
    },

    /** Moves the folder into the store. The packages must be recorded and claimed before. */
    async keep(source: string, id: string) {
      await mkdir(folder, { recursive: true, mode: 0o711 })
      await rename(source, folderOf(id))
    },
    /** Puts back packages whose folder is gone. Another process may have done so at the same time. */
    async restore(source: string, id: string) {
      await this.keep(source, id).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
      })
    },
    async record(tx: Transaction, accountId: string, { id, wanted, files, bytes }: Packages) {
      await tx.query(statement`
        INSERT INTO packages (id, account_id, wanted, files, bytes, create_time)
        VALUES (${id}, ${accountId}, ${wanted}, ${files}, ${bytes}, ${clock.now()})`)
    },

    /** Removes packages without a reference and returns how many. The row goes first: a folder without a row is garbage. */
    async collect(): Promise<number> {
      await sql.transaction((tx) =>
        tx.query(statement`
          DELETE FROM packages WHERE NOT EXISTS (SELECT 1 FROM builds WHERE builds.packages_id = packages.id)`),
      )
      // Listed before the rows are read: new packages have a row before they have a folder.
      const names = await namesIn(folder)
      const rows = await sql.query<{ id: string }>(statement`SELECT id FROM packages`)
      const known = new Set(rows.map(({ id }) => id))
      const leftOver = names.filter((name) => !known.has(name))
      if (await hasRetentionHold(sql, clock.now())) return 0
      for (const name of leftOver) await removeTree(join(folder, name))
      return leftOver.length
    },
  }
}

export type PackageStore = ReturnType<typeof createPackageStore>

async function lookAt(path: string) {
  return lstat(path).catch(absent)
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? []
}
