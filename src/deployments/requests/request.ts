/**
 * Asking for a change: one transaction writes what is wanted and the operation that brings it about. When it is committed
 * the caller gets the operation, and the work cannot be lost any more.
 */
import type { Account } from '../../accounts/index.ts'
import {
  type Apps,
  appEtag,
  type EnvironmentChange,
  type Environments,
  environmentEtag,
  type Preconditions,
  requireEtag,
  type Variables,
} from '../../apps/index.ts'
import type { Builds, SourceArchive, Sources } from '../../builds/index.ts'
import { aboveCeiling, fieldInvalid, isAbove, LIMITS, Problem, resources } from '../../contract/index.ts'
import type { Operation, OperationPath, Operations } from '../../operations/index.ts'
import type { Sql, Transaction } from '../../storage/index.ts'
import { type Deployments, isActivatable } from '../records/deployments.ts'
import type { Routing } from '../routing.ts'
import type { BuildRequests, Rebuild } from './request-build.ts'
import { requireOpen } from './require-open.ts'

type Parts = {
  sql: Sql
  apps: Apps
  environments: Environments
  variables: Variables
  operations: Operations
  builds: Pick<Builds, 'require'>
  sources: Pick<Sources, 'current'>
  buildRequests: BuildRequests
  deployments: Deployments
  routing: Pick<Routing, 'touch'>
  /** How many an account may have; 0 for no limit. */
  maxEnvironments?: number
}

export const CHANGEABLE = [
  'displayName',
  'cmsEnvironment',
  'shellVariables',
  'rootDirectory',
  'suspiciousOutput',
] as const
export type Changeable = (typeof CHANGEABLE)[number]

/** Who asks; null where that is not known. */
type By = resources.Requester | null

type Deletion = { force: boolean; preconditions?: Preconditions; requestedBy?: By }

export function createRequests(parts: Parts) {
  const { sql, apps, environments, variables, operations, builds, sources, buildRequests, deployments, routing } = parts

  async function inOneTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await sql.transaction(work)
    operations.announce()
    return result
  }

  async function markDeleting(
    tx: Transaction,
    account: Account,
    appName: string,
    id: string,
    requestedBy: By,
  ): Promise<Operation> {
    const path = { accountId: account.id, appName, environmentId: id }
    const already = await operations.unfinished(tx, path, 'DELETE')
    if (already) return already
    // A build under way would only be thrown away, and one that waits would hold up the deletion.
    const waiting = await operations.waitingBuild(tx, path)
    if (waiting) await buildRequests.withdraw(tx, waiting)
    await operations.cancelAll(tx, path)
    await environments.markDeleting(tx, id)
    await routing.touch(tx)
    return operations.request(tx, path, 'DELETE', { requestedBy })
  }

  /** They wait for each other and for a build, so somebody who changes things in a loop would pile them up. */
  async function requireQueueSpace(tx: Transaction, path: OperationPath) {
    if ((await operations.countChanges(tx, path)) < LIMITS.changesWaiting) return
    const metadata = { limit: String(LIMITS.changesWaiting) }
    throw new Problem('TOO_MANY_CHANGES', undefined, { metadata, retryAfterSeconds: 10 })
  }

  return {
    upload(
      account: Account,
      appName: string,
      id: string,
      archive: SourceArchive,
      requestedBy: By = null,
    ): Promise<Operation> {
      return inOneTransaction((tx) => buildRequests.upload(tx, account, appName, id, archive, requestedBy))
    },

    rebuild(account: Account, appName: string, id: string, wanted: Rebuild): Promise<Operation> {
      return inOneTransaction((tx) => buildRequests.rebuild(tx, account, appName, id, wanted))
    },

    activate(
      account: Account,
      appName: string,
      id: string,
      deploymentId: string,
      requestedBy: By = null,
    ): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const { path } = await requireOpen(tx, environments, account, appName, id)
        await requireQueueSpace(tx, path)
        const deployment = await deployments.require(path, deploymentId, tx)
        if (!isActivatable(deployment)) {
          const why =
            deployment.discardTime === null
              ? `A deployment that is ${deployment.state} cannot be made live.`
              : 'Its files were removed to make room for newer deployments.'
          throw new Problem('DEPLOYMENT_NOT_ACTIVATABLE', why)
        }
        const wanted = { activates: deployment.id, build: deployment.buildId, requestedBy }
        const operation = await operations.request(tx, path, 'ACTIVATE', wanted)
        const { archive } = await builds.require(path, deployment.buildId, tx)
        const source = await sources.current(tx, id)
        if (source?.digest !== archive.digest) await buildRequests.postpone(tx, path)
        return operation
      })
    },

    /** Asks an operation to end early. A build that nobody has begun ends at once: it must not wait for its turn to do so. */
    async cancel(path: OperationPath, id: string): Promise<void> {
      const ended = await inOneTransaction(async (tx) => {
        const waiting = await operations.waitingBuild(tx, path)
        await operations.cancel(tx, path, id)
        return waiting?.id === id ? buildRequests.withdraw(tx, waiting) : []
      })
      for (const one of ended) operations.ended(one)
    },

    createEnvironment(
      account: Account,
      appName: string,
      given: resources.NewEnvironment,
      requestedBy: By = null,
    ): Promise<Operation> {
      const id = environments.newId()
      const draft = {
        displayName: given.displayName,
        branch: given.branch,
        cmsEnvironment: cmsEnvironmentOf(given),
        rootDirectory: given.rootDirectory ?? '',
        variables: variables.seal(id, given.shellVariables ?? []),
        ...(given.suspiciousOutput ? { suspiciousOutput: given.suspiciousOutput } : {}),
      }
      return inOneTransaction(async (tx) => {
        const app = await apps.require(account.id, appName, tx)
        await environments.insert(tx, { id: app.id, accountId: account.id }, id, draft)
        const max = parts.maxEnvironments ?? 0
        if (isAbove(await environments.count(account.id, tx), max)) throw aboveCeiling('ENVIRONMENTS', max)
        const path = { accountId: account.id, appName: app.name, environmentId: id }
        return operations.request(tx, path, 'CREATE', { requestedBy })
      })
    },

    /**
     * The fields of the mask are set to what is given; a field that is in the mask and not given is cleared. They are set
     * before the operation begins, in the transaction that looks at the etag: of two changes of one version, one is made.
     */
    updateEnvironment(
      account: Account,
      appName: string,
      id: string,
      given: resources.ChangedEnvironment,
      mask: readonly Changeable[],
      preconditions: Preconditions = [],
      requestedBy: By = null,
    ): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const { path } = await requireOpen(tx, environments, account, appName, id)
        const before = await environments.requireWhole(account.id, appName, id, tx)
        requireEtag(preconditions, environmentEtag(before), 'environment')
        await requireQueueSpace(tx, path)
        const change: EnvironmentChange = {}
        if (mask.includes('displayName')) change.displayName = required('displayName', given.displayName)
        if (mask.includes('cmsEnvironment')) change.cmsEnvironment = required('cmsEnvironment', given.cmsEnvironment)
        if (mask.includes('rootDirectory')) change.rootDirectory = given.rootDirectory ?? ''
        if (mask.includes('suspiciousOutput')) {
          change.suspiciousOutput = given.suspiciousOutput ?? resources.DEFAULT_SUSPICIOUS_OUTPUT
        }
        if (mask.includes('shellVariables')) {
          change.variables = variables.seal(id, given.shellVariables ?? [], before.variables)
        }
        await environments.update(tx, before, change)
        return operations.request(tx, path, 'UPDATE', { requestedBy })
      })
    },

    /** A second call while it is being deleted is answered with the same operation. */
    deleteEnvironment(
      account: Account,
      appName: string,
      id: string,
      preconditions: Preconditions = [],
      requestedBy: By = null,
    ): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const environment = await environments.requireWhole(account.id, appName, id, tx)
        requireEtag(preconditions, environmentEtag(environment), 'environment')
        return markDeleting(tx, account, environment.appName, id, requestedBy)
      })
    },

    /** The app and its environments are out of sight when this resolves; what they hold is taken down afterwards. */
    async deleteApp(
      account: Account,
      appName: string,
      { force, preconditions = [], requestedBy = null }: Deletion,
    ): Promise<void> {
      await inOneTransaction(async (tx) => {
        const app = await apps.require(account.id, appName, tx)
        requireEtag(preconditions, appEtag(app), 'app')
        const ids = await environments.idsOf(tx, app.id)
        if (ids.length > 0 && !force) {
          throw new Problem('APP_HAS_ENVIRONMENTS', `The app ${app.name} has ${ids.length} environment(s).`, {
            metadata: { environments: String(ids.length) },
          })
        }
        for (const id of ids) await markDeleting(tx, account, app.name, id, requestedBy)
        await apps.hide(tx, app.id)
        await apps.removeIfHiddenAndEmpty(tx, app.id)
      })
    },
  }
}

export type Requests = ReturnType<typeof createRequests>

function cmsEnvironmentOf({ cmsEnvironment, wpEnvironment }: resources.NewEnvironment): string {
  if (cmsEnvironment !== undefined && wpEnvironment !== undefined && cmsEnvironment !== wpEnvironment) {
    throw fieldInvalid('wpEnvironment', 'is another name for cmsEnvironment; the two must not differ')
  }
  return required('cmsEnvironment', cmsEnvironment ?? wpEnvironment)
}

function required(field: string, value: string | undefined): string {
  if (value === undefined) throw fieldInvalid(field, 'is required')
  return value
}
