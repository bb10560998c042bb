/** Looks for conditions that teams are told of: crash loops, certificates, full disks and quotas. */
import { hostname } from 'node:os'
import type { Log } from '../../base/index.ts'
import type { OpenCertificates } from '../../certificates/index.ts'
import { createConditionRounds, diskFill } from '../../conditions/index.ts'
import type { Database } from '../../data-folder.ts'
import { createCounts } from '../../retention/index.ts'
import type { Config } from '../../settings.ts'
import type { LeaderWork } from '../../storage/index.ts'
import type { Hosting } from '../hosting.ts'
import { ceilingsOf } from '../limits.ts'
import type { Live } from '../live.ts'
import type { Records } from '../records.ts'
import type { Retention } from '../retention.ts'

type Parts = {
  config: Config
  log: Log
  database: Database
  records: Records
  hosting: Pick<Hosting, 'instances'>
  live: Pick<Live, 'siteUrl'>
  retention: Pick<Retention, 'usage' | 'diskBytes'>
  certificates: Pick<OpenCertificates['records'], 'doubtful'>
}

export function createConditionWork(parts: Parts): LeaderWork {
  const { config, log, database, records, hosting, live, retention, certificates } = parts
  const { sql, clock, accounts, environments } = database
  const { instances } = hosting
  const counts = createCounts({
    ...database,
    domains: records.domains,
    instances,
    ceilings: ceilingsOf(config),
    concurrency: config.concurrency,
  })

  return (term) =>
    createConditionRounds({
      sql,
      clock,
      log,
      accounts,
      notices: records.notices,
      records: records.conditionRecords,
      operatorAccounts: config.operatorAccounts,
      async liveApps(wanting) {
        const names = new Map(wanting.map(({ id, name }) => [id, name]))
        return (await environments.live([...names.keys()])).map(({ id, hostLabel, displayName, ...one }) => ({
          environmentId: id,
          accountId: one.accountId,
          accountName: names.get(one.accountId) ?? '',
          appName: one.appName,
          environment: displayName,
          deployment: one.liveDeployment,
          status: instances.of(one.liveDeployment),
          siteUrl: hostLabel === null ? '' : live.siteUrl(hostLabel),
        }))
      },
      certificates: certificates.doubtful,
      async fillOf(account) {
        const { bytes, limitBytes, files, limitFiles } = await retention.usage.ofAccount(account)
        return {
          bytes: { used: bytes, limit: limitBytes },
          files: { used: files, limit: limitFiles },
          counted: await counts(account.id),
        }
      },
      async disk() {
        const { free, total } = await retention.diskBytes()
        return { ...diskFill({ free, total, reserve: config.diskReserve }), host: hostname() }
      },
      term,
    }).start()
}
