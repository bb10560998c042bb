/** Tells of changes below an environment, for rooms that know it by its id alone. */
import { statement, type Transaction } from './sql.ts'

/**
 * Followers of its account hear of each of these: `builds/…`, or an empty name for the environment itself. Asked within the
 * transaction: nobody hears of an environment that is gone, and whoever asked is told so.
 */
export async function notifyBelow(
  tx: Transaction,
  environmentId: string,
  ...below: readonly string[]
): Promise<boolean> {
  const [row] = await tx.query<{ account_id: string; app_name: string }>(statement`
    SELECT e.account_id, a.name AS app_name FROM environments e JOIN apps a ON a.id = e.app_id
    WHERE e.id = ${environmentId}`)
  if (!row) return false
  const environment = `apps/${row.app_name}/environments/${environmentId}`
  for (const name of below) tx.notify(row.account_id, name === '' ? environment : `${environment}/${name}`)
  return true
}
