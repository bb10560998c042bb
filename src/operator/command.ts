/** A command of the operator: it works on the data folder, whether or not the service runs. */
import type { Accounts, Credentials, Users } from '../accounts/index.ts'
import type { CmsInstalls } from '../apps/index.ts'
import type { KeySources, OpenForeignSql, OpenSql } from '../backups/index.ts'
import type { Clock, NewId, Secret } from '../base/index.ts'
import type { CommandForm, OptionValues, resources } from '../contract/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Sql } from '../storage/index.ts'

/** The services that commands use, opened on the data folder. */
export type OperatorServices = {
  sql: Sql
  clock: Clock
  newId: NewId
  accounts: Accounts
  users: Users
  credentials: Credentials
  cmsInstalls: CmsInstalls
  operations: Pick<Operations, 'atWork'>
}

/** The data folder before anything in it is opened. */
export type DataFolder = {
  dataDir: string
  /** The file of the database. */
  database: string
  masterKey: KeySources
  openSql: OpenSql
  openForeignSql: OpenForeignSql
  /** Of PostgreSQL, where that is the database. */
  databaseUrl: Secret | undefined
  openPostgres(databaseUrl: string): Promise<Sql>
  /** Where the database is put after its rows were moved to PostgreSQL. */
  movedDatabase: string
  /** Refuses if a service runs. Returns the function that releases the folder. */
  lock(): Promise<() => void>
  /** Copies the rows of one moment into a file that is empty, in the way of the database that is used. */
  copyDatabase?: ((sql: Sql, file: string) => Promise<void>) | undefined
  /** Of this Headland. */
  version: string
  /** Where archives are if they are not in the data folder. */
  objectStore?: string | undefined
  /** A write, a read and a delete; rejects with words that say what to do. */
  probeObjectStore?: (() => Promise<ProbedStore | undefined>) | undefined
}

export type ProbedStore = {
  host: string
  writeMs: number
  readMs: number
  deleteMs: number
  /** Whether old versions are kept; undefined if the store does not say. */
  isVersioned: boolean | undefined
}

/** `ok`; `weaker`: the service runs, with less protection or comfort; `broken`: it does not run. */
export type Finding = { part: string; state: 'ok' | 'weaker' | 'broken'; found: string; advice: string }

export type CommandCall = {
  positionals: string[]
  options: OptionValues
  /** Opened at the first call, closed when the command is over. */
  services(): Promise<OperatorServices>
  folder: DataFolder
  print(text: string): void
}

export type Command = CommandForm & {
  /** What it changes is in the audit log of the account. */
  audited?: resources.AuditAction
  /** Returns the exit code; undefined is 0. */
  run(call: CommandCall): Promise<number | undefined>
}
