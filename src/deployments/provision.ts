/**
 * Bringing about what was asked for an environment. Each handler can be run again from its first line: what it has done
 * already it finds done.
 */
import type { Accounts } from '../accounts/index.ts'
import type { Apps, Environments } from '../apps/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import type { Finish, Handler, Handlers, Operation, Operations } from '../operations/index.ts'
import type { Sql, Transaction } from '../storage/index.ts'
import { describeEnvironment, type SiteUrl } from './describe.ts'
import type { Routing } from './routing.ts'

type Parts = {
  sql: Sql
  accounts: Accounts
  apps: Apps
  environments: Environments
  operations: Operations
  routing: Routing
  siteUrl: SiteUrl
}

export function createHandlers({ sql, accounts, apps, environments, operations, routing, siteUrl }: Parts): Handlers {
  /** The environment gets its host label, and the edge answers for it. */
  const create: Handler = async (operation, signal) => {
    if (isCancelled(signal)) return undo(operation)
    await sql.transaction(async (tx) => {
      const environment = await environments.byId(tx, operation.environmentId)
      if (!environment || environment.state === 'DELETING') return
      await environments.assignHostLabel(tx, environment)
      await routing.touch(tx)
    })
    await routing.publish()
    return isCancelled(signal) ? undo(operation) : finishWithEnvironment(operation)
  }

  /** What changed was written when it was asked for. Nothing runs yet that would have to be started anew. */
  const update: Handler = async (operation) => finishWithEnvironment(operation)

  /** The edge forgets the environment first; then its row goes. */
  const remove: Handler = async (operation) => {
    await routing.publish()
    return async (tx) => {
      await removeRow(tx, operation)
      return { response: {} }
    }
  }

  /** A cancelled creation leaves no environment behind. */
  async function undo(operation: Operation): Promise<Finish> {
    await sql.transaction(async (tx) => {
      await environments.markDeleting(tx, operation.environmentId)
      await routing.touch(tx)
    })
    await routing.publish()
    return async (tx) => {
      await removeRow(tx, operation)
      return { error: new Problem('OPERATION_CANCELLED') }
    }
  }

  async function removeRow(tx: Transaction, { environmentId }: Operation) {
    const environment = await environments.byId(tx, environmentId)
    if (!environment) return
    await environments.remove(tx, environmentId)
    await apps.removeIfHiddenAndEmpty(tx, environment.appId)
  }

  function finishWithEnvironment(operation: Operation): Finish {
    return async (tx) => {
      const response = await describe(tx, operation)
      return response ? { response } : { error: new Problem('ENVIRONMENT_NOT_FOUND') }
    }
  }

  async function describe(tx: Transaction, operation: Operation): Promise<resources.Environment | undefined> {
    const environment = await environments.byId(tx, operation.environmentId)
    if (!environment) return undefined
    const { name: accountName } = await accounts.requireById(tx, environment.accountId)
    const isReconciling = await operations.isAnotherUnfinished(tx, operation)
    return describeEnvironment({ environment, accountName, isReconciling }, siteUrl)
  }

  return { CREATE: create, UPDATE: update, DELETE: remove }
}

const isCancelled = (signal: AbortSignal): boolean =>
  signal.reason instanceof Problem && signal.reason.reason === 'OPERATION_CANCELLED'
