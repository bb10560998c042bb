/**
 * A process of a cluster that leads if it can: started in the network of the nodes, where apps answer, and killed by tests. Its
 * argument is JSON.
 */
import { createChanges, createLog, parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { createClusterApps } from '../../../src/cluster/index.ts'
import { createLeadership, createVault, openLineLogs } from '../../../src/storage/index.ts'
import { createElection } from '../../../src/storage/sql/postgres/election.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import { createDocker } from '../../../src/swarm/index.ts'

export type LeaderSettings = {
  databaseUrl: string
  /** Of the engine that is a manager. */
  socketPath: string
  cluster: string
  idleMs: number
  holder: string
}

const settings = JSON.parse(process.argv[2] ?? '{}') as LeaderSettings
const { databaseUrl, socketPath, cluster, idleMs, holder } = settings
const address = parseDatabaseAddress(databaseUrl)
const changes = createChanges()
const sql = await openPostgres(address, { onChange: changes.notify, onEverything: changes.notifyEverything })
const log = createLog('silent')
const shared = { folder: '', sql, clock: systemClock, blobs: undefined, isMoving: false, isShared: true }
const { logs } = await openLineLogs(shared)
const apps = createClusterApps({
  sql,
  clock: systemClock,
  log,
  changes,
  vault: createVault(Buffer.alloc(32, 7)),
  logs,
  imageOf: () => Promise.reject(new Error('it starts nothing itself')),
  tellRevalidated: async () => undefined,
  regionOf: () => Promise.reject(new Error('it starts nothing itself')),
  nodes: { isConfirmed: () => true, onChange: () => () => undefined },
  startDeadlineMs: 60_000,
  idleMs,
  awakeLimits: { apps: 0, memoryBytes: 0 },
})
await apps.start()
const leadership = createLeadership({ clock: systemClock, log, election: createElection(address), holder })
const lead = apps.lead({ docker: createDocker({ address: { socketPath } }), cluster })
leadership.lead((term) => {
  process.stdout.write(`leads ${term.number}\n`)
  return lead(term)
})
leadership.start()
process.on('SIGTERM', async () => {
  await leadership.stop(30_000)
  process.exit()
})
// It ends with the test.
process.stdin.on('end', () => process.exit()).resume()
