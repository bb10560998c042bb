/**
 * How the service and operators' commands open the data folder. Chooses the adapters behind the
 * interfaces of `storage/`.
 */
import { existsSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import {
  createAccounts,
  createCredentials,
  createInvitations,
  createMembers,
  createSessions,
  createUsers,
} from './accounts/index.ts'
import { createApps, createCmsInstalls, createEnvironments, newestAppId } from './apps/index.ts'
import { newestAuditEventId, withAudit } from './audit/index.ts'
import { type Changes, createChanges, createIds, parseDatabaseAddress, type Secret, systemClock } from './base/index.ts'
import { newestBuildId, readArchives } from './builds/index.ts'
import { Refused } from './contract/index.ts'
import { type DataFiles, filesIn } from './data-files.ts'
import { takeDataFolder } from './data-lock.ts'
import { newestDeploymentId } from './deployments/index.ts'
import { objectStoreOf } from './object-store.ts'
import { createOperations, newestOperationId } from './operations/index.ts'
import { type Config, ROLES } from './settings.ts'
import { openDiskBlobs } from './storage/blobs/blobs-disk.ts'
import {
  type Blobs,
  copyToSqlite,
  createBallast,
  createLoneElection,
  type Election,
  MIGRATIONS,
  migrate,
  type Reader,
  refuseRestoring,
  refuseTriggers,
  type Sql,
} from './storage/index.ts'
import { openSqlite, openSqliteApart } from './storage/sql/sqlite.ts'
import { newestTriggerId } from './triggers/index.ts'
import { version } from './version.ts'

/** For operators' commands that do not open the data folder, or for which it need not exist yet. */
export const dataFolder = (config: Config) => ({
  dataDir: config.dataDir,
  database: filesIn(config.dataDir).database,
  movedDatabase: filesIn(config.dataDir).movedDatabase,
  databaseUrl: config.databaseUrl,
  openPostgres: openServerAt,
  copyDatabase: config.databaseUrl && copyServer,
  lock: () => takeDataFolder(config.dataDir, ROLES),
  masterKey: { file: filesIn(config.dataDir).masterKey, given: config.masterKey?.reveal() },
  openSql: openSqlite,
  openForeignSql: openSqliteApart,
  version,
  objectStore: config.objectStore,
  probeObjectStore: probeOf(config),
})

/** Loaded only here: SQLite needs nothing of it. */
async function openServerAt(databaseUrl: string, options: Parameters<OpenPostgres>[1] = {}): Promise<Sql> {
  const { openPostgres } = await import('./storage/sql/postgres/postgres.ts')
  return openPostgres(parseDatabaseAddress(databaseUrl), options)
}

type OpenPostgres = typeof import('./storage/sql/postgres/postgres.ts').openPostgres

async function openElectionAt(databaseUrl: string): Promise<Election> {
  const { createElection } = await import('./storage/sql/postgres/election.ts')
  return createElection(parseDatabaseAddress(databaseUrl))
}

async function copyServer(sql: Sql, file: string) {
  const copy = await openSqlite(file)
  try {
    await copyToSqlite(sql, copy)
  } finally {
    await copy.close()
  }
}

type OpenOptions = {
  /** Of PostgreSQL; without it, the database is SQLite. */
  databaseUrl?: Secret | undefined
  onDeath?(error: Error): void
  /** The connection to the database was lost, or is back. SQLite has none. */
  onAway?(error: Error): void
  onBack?(): void
  /** A service of an earlier version uses the database, and goes on. */
  isShared?: boolean
}

/** The database of a data folder, migrated, and the modules that need nothing else: all that operators' commands need. */
export async function openDatabase(dataDir: string, options: OpenOptions = {}) {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await refuseRestoring(dataDir)
  const clock = systemClock
  const changes = createChanges()
  const unaudited = options.databaseUrl
    ? await openServer(dataDir, options.databaseUrl, { ...options, changes })
    : await openFile(dataDir, { ...options, changes })
  await migrate(unaudited, MIGRATIONS, clock.now(), { isShared: options.isShared ?? false })
  const newId = createIds(clock, await newestId(unaudited))
  const sql = withAudit(unaudited, { clock, newId })
  const accounts = createAccounts({ sql, clock, newId })
  const { databaseUrl } = options
  return {
    /** Which of the control processes on this database leads. */
    openElection: async (): Promise<Election> =>
      databaseUrl ? openElectionAt(databaseUrl.reveal()) : createLoneElection({ sql, clock }),
    sql,
    clock,
    newId,
    changes,
    accounts,
    users: createUsers({ sql, clock, newId, accounts }),
    members: createMembers({ sql, clock, newId }),
    invitations: createInvitations({ sql, clock }),
    credentials: createCredentials({ sql, clock, newId }),
    sessions: createSessions({ sql, clock }),
    apps: createApps({ sql, clock, newId }),
    environments: createEnvironments({ sql, clock, newId }),
    cmsInstalls: createCmsInstalls({ sql }),
    operations: createOperations({
      sql,
      clock,
      newId,
      readDescriptions: readArchives,
      changes: databaseUrl && changes,
    }),
  }
}

type SqlOptions = OpenOptions & { changes: Changes }

async function openFile(dataDir: string, { onDeath, changes }: SqlOptions): Promise<Sql> {
  const { database, movedDatabase, ballast } = filesIn(dataDir)
  if (!existsSync(database) && existsSync(movedDatabase)) {
    throw new Refused(
      `The rows of ${dataDir} were moved to PostgreSQL. Set databaseUrl, or move them back with 'headland migrate-database'.`,
    )
  }
  // Readable by the service alone; SQLite gives the files beside it the same mode.
  await (await open(database, 'a', 0o600)).close()
  const onFull = () => createBallast(ballast).throwOut()
  const sql = await openSqlite(database, { onDeath, onFull, onChange: changes.notify })
  await refuseTriggers(sql)
  return sql
}

async function openServer(dataDir: string, databaseUrl: Secret, { onAway, onBack, changes }: SqlOptions): Promise<Sql> {
  const { database } = filesIn(dataDir)
  if (existsSync(database)) {
    throw new Refused(
      `databaseUrl is set, and ${database} is a SQLite database. Move its rows with 'headland migrate-database', or move the file away.`,
    )
  }
  return openServerAt(databaseUrl.reveal(), {
    onChange: changes.notify,
    onEverything: changes.notifyEverything,
    ...(onAway ? { onAway } : {}),
    ...(onBack ? { onBack } : {}),
  })
}

/**
 * The newest id in the database. Ids carry the time and are the order of everything (the last upload, the next operation), so
 * a process whose clock is behind goes on from here. Undefined in a new database.
 */
export async function newestId(sql: Reader): Promise<string | undefined> {
  const owners = [
    newestAppId,
    newestOperationId,
    newestBuildId,
    newestDeploymentId,
    newestTriggerId,
    newestAuditEventId,
  ]
  const ids = await Promise.all(owners.map((newest) => newest(sql)))
  return ids
    .filter((id) => id !== undefined)
    .toSorted()
    .at(-1)
}

export type Database = Awaited<ReturnType<typeof openDatabase>>

export type BlobStores = {
  archives: Blobs
  /** Closed parts of logs. Undefined where they stay in their files. */
  logs: Blobs | undefined
  /** Copies of the caches of builds. Undefined where there are none. */
  caches: Blobs | undefined
  /** What apps keep in the key-value store. Undefined where it is in files. */
  values: Blobs | undefined
  /** Whether blobs are in an object store. */
  isRemote: boolean
}

/** On the disk, or in the object store if there is one. Its adapter is loaded for those who use it. */
export async function openBlobs(files: DataFiles, config: Config, owner: string): Promise<BlobStores> {
  const { blobs, storedLogs, objectCache } = files
  const store = objectStoreOf(config)
  if (!store) {
    // What was brought back from a bucket is read where it is.
    const logs = existsSync(storedLogs) ? await openDiskBlobs(storedLogs) : undefined
    return { archives: await openDiskBlobs(blobs), logs, caches: undefined, values: undefined, isRemote: false }
  }
  const { createMovingBlobs, openS3Store } = await import('./storage/blobs/s3/blobs-s3.ts')
  const inStore = await openS3Store({
    ...store,
    owner,
    cache: { folder: objectCache, maxBytes: config.objectStoreCacheBytes },
  })
  const archives = inStore.blobs({ folder: 'blobs' })
  const logs = inStore.blobs({ folder: 'logs', isForCallers: true })
  return {
    archives: existsSync(blobs) ? createMovingBlobs(await openDiskBlobs(blobs), archives) : archives,
    logs: existsSync(storedLogs) ? createMovingBlobs(await openDiskBlobs(storedLogs), logs) : logs,
    caches: inStore.blobs({ folder: 'caches', isForCallers: true }),
    values: inStore.blobs({ folder: 'values', isForCallers: true, isUnique: true }),
    isRemote: true,
  }
}

/** Undefined where there is no object store. */
function probeOf(config: Config) {
  if (config.objectStore === undefined) return undefined
  return async () => {
    const { probeBucket } = await import('./storage/blobs/s3/blobs-s3.ts')
    const store = objectStoreOf(config)
    return store && probeBucket(store)
  }
}
