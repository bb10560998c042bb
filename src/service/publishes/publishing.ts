/** Records publishes, and what is told of the end of operations. */
import type { Log } from '../../base/index.ts'
import type { Database } from '../../data-folder.ts'
import { type BuildNotices, createPublishing, type Publishing } from '../../deployments/index.ts'
import type { Ending, OperationRecord } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import type { Records } from '../records.ts'

type Parts = { log: Log; database: Database; records: Records }

export function assemblePublishing({ log, database, records }: Parts): Publishing {
  const { sql, clock, accounts, environments, operations } = database
  const { builds, ledger, publishRecords, notices } = records
  return createPublishing({
    sql,
    clock,
    log,
    accounts,
    environments,
    operations,
    builds,
    ledger,
    records: publishRecords,
    recordNotice: notices.record,
  })
}

type Told = { publishing: Pick<Publishing, 'ended'>; buildNotices: Pick<BuildNotices, 'ended'> }

/** Part of the transaction that records the end of an operation. */
export const createOnEnd =
  ({ publishing, buildNotices }: Told) =>
  async (tx: Transaction, operation: OperationRecord, ending: Ending): Promise<void> => {
    await publishing.ended(tx, operation, ending)
    await buildNotices.ended(tx, operation, ending)
  }
