/** Creates and deletes environments. Each handler can run again from its first line, and finds the steps done that it has done. */
import type { Accounts } from '../../accounts/index.ts'
import type { Apps, Domains, Environments } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Builds, Outputs, PackageStore, Sources } from '../../builds/index.ts'
import { Problem, type resources } from '../../contract/index.ts'
import {
  type Finish,
  type Handler,
  isCancelled,
  type OperationRecord,
  type Operations,
} from '../../operations/index.ts'
import { requestLogName } from '../../request-log/index.ts'
import { hasRetentionHold, type LineLogs, type Sql, type Transaction } from '../../storage/index.ts'
import { buildLogName } from '../deploy/deploy.ts'
import { runtimeLogName } from '../deploy/launch.ts'
import type { Switch } from '../deploy/switch.ts'
import { describeEnvironment, type SiteUrl } from '../describe.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Retries } from '../records/retries.ts'
import type { Routing } from '../routing.ts'

type Parts = {
  sql: Sql
  clock: Clock
  accounts: Accounts
  apps: Apps
  environments: Environments
  domains: Domains
  operations: Operations
  routing: Routing
  builds: Builds
  sources: Pick<Sources, 'find'>
  outputs: Outputs
  packages: PackageStore
  deployments: Deployments
  retries: Pick<Retries, 'end'>
  switching: Switch
  folders: Folders
  logs: LineLogs
  siteUrl: SiteUrl
}

export function createProvision(parts: Parts) {
  const { sql, clock, accounts, apps, environments, domains, operations, routing, siteUrl } = parts
  const { builds, sources, outputs, packages, deployments, switching, folders, logs } = parts

  /** The environment gets its host label, and the edge answers for it. */
  const create: Handler = async (operation, work) => {
    if (isCancelled(work)) return undo(operation)
    await sql.transaction(async (tx) => {
      const environment = await environments.byId(tx, operation.environmentId)
      if (!environment || environment.state === 'DELETING') return
      await environments.assignHostLabel(tx, environment)
      await environments.assignUid(tx, environment)
      await routing.touch(tx, operation.environmentId)
    })
    await routing.publish()
    return isCancelled(work) ? undo(operation) : finishWithEnvironment(operation)
  }

  /** The edge drops the environment first; then its row is removed. */
  const remove: Handler = async (operation) => {
    await routing.publish()
    await takeDown(operation)
    return async (tx) => {
      await removeRow(tx, operation)
      return { response: {} }
    }
  }

  /** A cancelled creation leaves no environment behind. */
  async function undo(operation: OperationRecord): Promise<Finish> {
    await sql.transaction(async (tx) => {
      await environments.markDeleting(tx, operation.environmentId)
      await routing.touch(tx, operation.environmentId)
    })
    await routing.publish()
    return async (tx) => {
      await removeRow(tx, operation)
      return { error: new Problem('OPERATION_CANCELLED') }
    }
  }

  /**
   * Ends its process, and removes its files and logs. Files that other environments share stay. While a backup copies the data
   * folder all files stay, and the next garbage collection removes them once the rows are gone.
   */
  async function takeDown({ environmentId }: OperationRecord) {
    const environment = await environments.byId(sql, environmentId)
    if (!environment) return
    if (environment.liveDeployment) await switching.retire(environmentId, environment.liveDeployment)
    if (await hasRetentionHold(sql, clock.now())) return
    const path = { accountId: environment.accountId, environmentId }
    for (const { id } of await builds.all(path)) await logs.remove(buildLogName(id))
    await logs.remove(runtimeLogName(environmentId))
    await logs.remove(requestLogName(environmentId))
    await folders.remove(environmentId)
    for (const output of await builds.outputsOnlyOf(path)) await outputs.remove(output)
    await builds.releasePackages(environmentId)
    await packages.collect()
  }

  async function removeRow(tx: Transaction, { environmentId }: OperationRecord) {
    const environment = await environments.byId(tx, environmentId)
    if (!environment) return
    await parts.retries.end(tx, environmentId)
    await deployments.removeAll(tx, environmentId)
    await builds.removeAll(tx, environmentId)
    await environments.remove(tx, environmentId)
    await apps.removeIfHiddenAndEmpty(tx, environment.appId)
  }

  function finishWithEnvironment(operation: OperationRecord): Finish {
    return async (tx) => {
      const response = await describe(tx, operation)
      return response ? { response } : { error: new Problem('ENVIRONMENT_NOT_FOUND') }
    }
  }

  async function describe(tx: Transaction, operation: OperationRecord): Promise<resources.Environment | undefined> {
    const environment = await environments.byId(tx, operation.environmentId)
    if (!environment) return undefined
    const { name: accountName } = await accounts.requireById(tx, environment.accountId)
    const isReconciling = await operations.isAnotherUnfinished(tx, operation)
    const live = environment.liveDeployment ? await deployments.find(tx, environment.liveDeployment) : undefined
    const names = (await domains.of([environment.id], tx)).get(environment.id) ?? []
    const pin = (await sources.find(tx, environment.id))?.pin
    return describeEnvironment(
      { environment, accountName, domains: names, isReconciling, liveBuild: live?.buildId, pin },
      siteUrl,
    )
  }

  return { create, remove, finishWithEnvironment }
}
