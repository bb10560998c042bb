/**
 * What should run, for the reconciler. It removes services that are not in the list, so an empty list is dangerous: a database
 * that was emptied, or is another one than before, must not end all apps. Rows of apps that are gone stay for a day, and the
 * newest one for ever. So a table without any row has never known an app, and nothing is removed by it. A table whose apps are all
 * gone is believed when a second reading, in a transaction of the leader, says the same.
 */
import type { Log } from '../../base/index.ts'
import type { Sql, Term } from '../../storage/index.ts'
import type { DesiredApp } from '../../swarm/index.ts'
import { desiredOf } from '../app-record.ts'
import type { AppRecords } from '../records.ts'
import type { AppRow } from '../rows.ts'

type Parts = {
  log: Log
  sql: Pick<Sql, 'transaction'>
  records: Pick<AppRecords, 'all' | 'named' | 'hasAny'>
  term: Pick<Term, 'check'>
  /** How many services of this cluster the scheduler has. */
  countServices(): Promise<number>
}

export class AppsUnknown extends Error {
  constructor(services: number) {
    super(
      `the database has never known an app, and the cluster has ${services} of them: it may be the wrong database, or an empty one. Nothing is ended`,
    )
    this.name = 'AppsUnknown'
  }
}

export function createDesired({ log, sql, records, term, countServices }: Parts) {
  async function all(): Promise<AppRow[]> {
    const rows = await records.all()
    if (rows.length > 0) return rows
    const again = await sql.transaction(async (tx) => {
      await term.check(tx)
      return (await records.hasAny(tx)) ? records.all(tx) : undefined
    })
    const services = again ? 0 : await countServices()
    if (services > 0) throw new AppsUnknown(services)
    return again ?? []
  }

  async function named(scope: readonly string[]): Promise<AppRow[]> {
    const rows = await records.named(scope)
    return rows.length > 0 || (await records.hasAny()) ? rows : all()
  }

  /** A row that is not as the service writes it is not run, and does not stop the others. */
  function toDesired(row: AppRow): DesiredApp[] {
    try {
      return [desiredOf(row)]
    } catch (error) {
      log.error({ err: error, deployment: row.deployment }, 'an app of the cluster is not as the service describes it')
      return []
    }
  }

  return async (scope?: readonly string[]): Promise<DesiredApp[]> => {
    const rows = scope ? await named(scope) : await all()
    return rows.filter(({ isRetired, isGone, kept }) => !isGone && (!isRetired || kept > 0)).flatMap(toDesired)
  }
}
