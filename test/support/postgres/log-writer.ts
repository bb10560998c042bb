/**
 * A process that writes lines to a log in rows of a database, which a test can kill. Started with the address of the database, the
 * name of the log, its own name and how many lines it writes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseDatabaseAddress, systemClock } from '../../../src/base/index.ts'
import { createSharedLogs } from '../../../src/storage/logs/shared/shared-logs.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'

const [url = '', name = '', writer = '', count = ''] = process.argv.slice(2)
process.on('disconnect', () => process.exit())

const sql = await openPostgres(parseDatabaseAddress(url))
const logs = createSharedLogs({ sql, clock: systemClock })
const log = await logs.create(name, { secrets: [], whenFull: 'stop', maxBytes: 1e8 })
for (let line = 1; line <= Number(count); line++) {
  log.say('', `${writer} ${line}`)
  if (line % 20 === 0) await sleep(1)
}
await log.close()
await sql.close()
process.disconnect()
