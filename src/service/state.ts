/** What the processes of a service share: the database, the secrets in it, and the stores. */
import type { Log } from '../base/index.ts'
import type { DataFiles } from '../data-files.ts'
import { type Database, openDatabase } from '../data-folder.ts'
import type { Config } from '../settings.ts'
import { openVault, type Vault, watchPlace } from '../storage/index.ts'
import { createRecords, type Records } from './records.ts'
import { openStores, type Stores } from './stores.ts'

type Parts = {
  config: Config
  files: DataFiles
  log: Log
  /** What is opened is closed with it. */
  started: AsyncDisposableStack
  /** Another process goes on until this one takes over. */
  isReload: boolean
  onDeath(error: Error): void
}

export type State = { database: Database; vault: Vault; records: Records; stores: Stores }

export async function openState({ config, files, log, started, isReload, onDeath }: Parts): Promise<State> {
  const database = await openDatabase(config.dataDir, { ...server(config, log), onDeath, isShared: isReload })
  started.defer(() => database.sql.close())
  if (!config.databaseUrl) started.defer(await watchPlace(files.database, database.clock, onDeath))
  const vault = await openVault(database.sql, { file: files.masterKey, given: config.masterKey?.reveal() })
  const records = createRecords({ config, database, vault })
  const { keyId } = vault
  const stores = await openStores({ config, files, database, keyId, snapshotsIn: records.snapshotsIn })
  started.defer(async () => stores.images?.close())
  return { database, vault, records, stores }
}

/** Of a database that is reached by the network. */
const server = ({ databaseUrl }: Config, log: Log) => ({
  databaseUrl,
  onAway: (error: Error) => log.error({ err: error }, 'the connection to the database is lost'),
  onBack: () => log.info('the database answers again'),
})
