/** Rows of the table of operations, and the conditions and notifications that several files need. */
import { names, operationError, type resources } from '../contract/index.ts'
import { type Statement, statement, type Transaction } from '../storage/index.ts'
import type { Ending, OperationPath, OperationRecord } from './types.ts'

export type OperationRow = {
  id: string
  account_id: string
  app_name: string
  environment_id: string
  trigger_name: resources.Trigger
  phase: resources.Phase
  build: string
  deployment: string
  is_unchanged: number
  activates: string | null
  not_before: number | null
  requested_by: string | null
  create_time: number
  done_time: number | null
  response: string | null
  error: string | null
}

export const columns = statement`id, account_id, app_name, environment_id, trigger_name, phase, build, deployment,
  is_unchanged, activates, not_before, requested_by, create_time, done_time, response, error`

export const matching = ({ accountId, appName, environmentId }: OperationPath): Statement => statement`
  account_id = ${accountId} AND folded_app_name = ${names.fold(appName)} AND environment_id = ${environmentId}`

export const toRecord = (row: OperationRow): OperationRecord => ({
  id: row.id,
  accountId: row.account_id,
  appName: row.app_name,
  environmentId: row.environment_id,
  trigger: row.trigger_name,
  phase: row.phase,
  build: row.build,
  deployment: row.deployment,
  isUnchanged: row.is_unchanged === 1,
  activates: row.activates,
  notBefore: row.not_before,
  requestedBy: row.requested_by === null ? null : JSON.parse(row.requested_by),
  createTime: row.create_time,
  doneTime: row.done_time,
  response: row.response === null ? null : JSON.parse(row.response),
  error: row.error === null ? null : JSON.parse(row.error),
})

export const toColumns = (ending: Ending) => ({
  response: 'response' in ending ? JSON.stringify(ending.response) : null,
  error: 'error' in ending ? JSON.stringify(operationError(ending.error)) : null,
})

type Changed = Pick<OperationRow, 'id' | 'account_id' | 'app_name' | 'environment_id'>

/** `withEnvironment`: an environment shows whether an operation is changing it, so its followers are notified as well. */
export function notifyChanged(tx: Transaction, row: Changed, { withEnvironment = false } = {}) {
  const environment = `apps/${row.app_name}/environments/${row.environment_id}`
  tx.notify(row.account_id, `${environment}/operations/${row.id}`)
  if (withEnvironment) tx.notify(row.account_id, environment)
}
