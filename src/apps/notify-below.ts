import { type NotifyBelow, statement } from '../storage/index.ts'

export const notifyBelow: NotifyBelow = async (tx, environmentId, ...below) => {
  const [row] = await tx.query<{ account_id: string; app_name: string; display_name: string }>(statement`
    SELECT e.account_id, a.name AS app_name, e.display_name FROM environments e JOIN apps a ON a.id = e.app_id
    WHERE e.id = ${environmentId}`)
  if (!row) return false
  const environment = `apps/${row.app_name}/environments/${environmentId}`
  const about = { title: row.display_name }
  for (const name of below) tx.notify(row.account_id, name === '' ? environment : `${environment}/${name}`, about)
  return true
}
