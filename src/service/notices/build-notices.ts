/** Notices of builds. */
import type { Database } from '../../data-folder.ts'
import { type BuildNotices, createBuildNotices } from '../../deployments/index.ts'
import type { Live } from '../live.ts'
import type { Records } from '../records.ts'

type Parts = { database: Database; records: Records; live: Pick<Live, 'siteUrl'> }

export function assembleBuildNotices({ database, records, live }: Parts): BuildNotices {
  const { accounts, environments } = database
  const { builds, deployments, retries, notices, conditionRecords } = records
  return createBuildNotices({
    accounts,
    environments,
    builds,
    deployments,
    retries,
    siteUrl: live.siteUrl,
    record: notices.record,
    isWanted: conditionRecords.hasTargets,
  })
}
