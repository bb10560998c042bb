/**
 * Requests for changes: one transaction writes what is wanted and the operation that carries it out. When it is committed
 * the caller gets the operation, and the work cannot be lost any more.
 */
import type { Account } from '../../accounts/index.ts'
import {
  type Apps,
  appEtag,
  type Environment,
  type EnvironmentChange,
  type Environments,
  environmentEtag,
  NO_PROTECTION,
  notifyBelow,
  type Preconditions,
  type PreviewRecords,
  requireEtag,
  type Variables,
} from '../../apps/index.ts'
import type { Builds, SourceArchive, Sources } from '../../builds/index.ts'
import { aboveCeiling, fieldInvalid, isAbove, Problem, resources } from '../../contract/index.ts'
import type { Operation, OperationPath, Operations } from '../../operations/index.ts'
import type { Sql, Transaction } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'
import { type Deployments, isActivatable } from '../records/deployments.ts'
import type { DeploymentHead } from '../records/rows.ts'
import type { Routing } from '../routing.ts'
import type { Rebuild } from './build-queue.ts'
import { createForcing } from './forced.ts'
import { type ProtectionChange, readProtectionChange } from './protection.ts'
import { requireQueueSpace } from './queue-space.ts'
import type { BuildRequests } from './request-build.ts'
import { type EnvironmentRef, requireOpen } from './require-open.ts'
import { changedScaling, newScaling } from './scaling.ts'

type Parts = {
  sql: Sql
  apps: Apps
  environments: Environments
  variables: Variables
  operations: Operations
  builds: Pick<Builds, 'require' | 'makeForced'>
  sources: Pick<Sources, 'current'>
  buildRequests: BuildRequests
  ledger: Pick<Ledger, 'add'>
  deployments: Deployments
  routing: Pick<Routing, 'touch'>
  previewRecords: Pick<PreviewRecords, 'followProtection' | 'keepOwnProtection'>
  /** How many an account may have; 0 for no limit. */
  maxEnvironments?: number
}

export const CHANGEABLE = [
  'displayName',
  'branch',
  'cmsEnvironment',
  'shellVariables',
  'rootDirectory',
  'suspiciousOutput',
  'promotionChecks',
  'contentSnapshots',
  ...resources.SCALING_FIELDS,
  'production',
  'protection',
  'badge',
  'publishPromiseSeconds',
  'learnedCaching',
] as const
export type Changeable = (typeof CHANGEABLE)[number]

/** Null if it is not known who asks. */
type By = resources.Requester | null

type Deletion = {
  preconditions?: Preconditions
  requestedBy?: By
  /** Part of the transaction: throws if it is not to be deleted any more. */
  guard?(tx: Transaction): Promise<void>
}
type Change = Deletion & { given: resources.ChangedEnvironment; mask: readonly Changeable[] }

export function createRequests(parts: Parts) {
  const { sql, apps, environments, variables, operations, builds, sources, buildRequests, deployments, routing } = parts
  const { previewRecords } = parts
  const forcing = createForcing(parts)

  async function inOneTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await sql.transaction(work)
    operations.announce()
    return result
  }

  async function markDeleting(
    tx: Transaction,
    { account, appName, environmentId }: EnvironmentRef,
    requestedBy: By,
  ): Promise<Operation> {
    const path = { accountId: account.id, appName, environmentId }
    const already = await operations.unfinished(tx, path, 'DELETE')
    if (already) return already
    // The result of a running build would be thrown away, and a waiting one would delay the deletion.
    const waiting = await operations.waitingBuild(tx, path)
    if (waiting) await buildRequests.withdraw(tx, waiting)
    await operations.cancelAll(tx, path)
    await environments.markDeleting(tx, environmentId)
    await routing.touch(tx, environmentId)
    return operations.request(tx, path, 'DELETE', { requestedBy })
  }

  return {
    /** With `forced` it goes live, whatever its check finds, and the ledger records who wanted that. */
    upload: (
      at: EnvironmentRef,
      archive: SourceArchive,
      requestedBy: By = null,
      forced: Asked | undefined = undefined,
    ): Promise<Operation> =>
      inOneTransaction(async (tx) => {
        const operation = await buildRequests.upload(tx, at, archive, requestedBy)
        if (forced) await forcing.force(tx, forced, operation)
        return operation
      }),

    rebuild: (at: EnvironmentRef, wanted: Rebuild): Promise<Operation> =>
      inOneTransaction((tx) => buildRequests.rebuild(tx, at, wanted)),

    /** If it is held, the ledger records who went on all the same. */
    activate(
      at: EnvironmentRef,
      deploymentId: string,
      requestedBy: By = null,
      asked: Asked | undefined = undefined,
    ): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const { path } = await requireOpen(environments, tx, at)
        await requireQueueSpace(operations, tx, path)
        const deployment = await deployments.require(path, deploymentId, tx)
        requireActivatable(deployment)
        const wanted = { activates: deployment.id, build: deployment.buildId, requestedBy }
        const operation = await operations.request(tx, path, 'ACTIVATE', wanted)
        await notifyBelow(tx, at.environmentId, '')
        if (asked && deployment.state === 'HELD') await forcing.record(tx, asked, operation)
        const { archive } = await builds.require(path, deployment.buildId, tx)
        const source = await sources.current(tx, at.environmentId)
        if (source?.digest !== archive.digest) await buildRequests.postpone(tx, path)
        return operation
      })
    },

    /** Asks an operation to end early. A build that no worker has begun ends at once, and does not wait for its turn. */
    async cancel(path: OperationPath, id: string): Promise<void> {
      const ended = await inOneTransaction(async (tx) => {
        const waiting = await operations.waitingBuild(tx, path)
        if (await operations.cancel(tx, path, id)) await notifyBelow(tx, path.environmentId, '')
        return waiting?.id === id ? buildRequests.withdraw(tx, waiting) : []
      })
      for (const one of ended) operations.ended(one)
    },

    async createEnvironment(
      account: Account,
      appName: string,
      given: resources.NewEnvironment,
      requestedBy: By = null,
    ): Promise<Operation> {
      const id = environments.newId()
      const draft = {
        ...draftOf(given),
        variables: variables.seal(id, given.shellVariables ?? []),
        ...(given.protection
          ? { protection: { ...NO_PROTECTION, ...(await readProtectionChange(account.id, given.protection)) } }
          : {}),
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
     * The fields of the mask are set to the given values; a field that is in the mask and not given is cleared. They are set
     * before the operation begins, in the transaction that compares the etag: of two changes of one version, one is made.
     */
    async updateEnvironment(
      at: EnvironmentRef,
      { given, mask, preconditions = [], requestedBy = null }: Change,
    ): Promise<Operation> {
      const isOfVisitors = mask.includes('production') || mask.includes('protection') || mask.includes('learnedCaching')
      const protection = mask.includes('protection')
        ? await readProtectionChange(at.account.id, given.protection)
        : undefined
      return inOneTransaction(async (tx) => {
        const { path } = await requireOpen(environments, tx, at)
        const before = await environments.requireWhole(at.account.id, at.appName, at.environmentId, tx)
        requireEtag(preconditions, environmentEtag(before), 'environment')
        await requireQueueSpace(operations, tx, path)
        await environments.update(tx, before, changeOf(before, given, mask, { protection, variables }))
        if (protection) await previewRecords.keepOwnProtection(tx, before.id)
        if (isOfVisitors) {
          await routing.touch(tx, before.id)
          await previewRecords.followProtection(tx, before.appId)
        }
        return operations.request(tx, path, 'UPDATE', { requestedBy })
      })
    },

    /** A second call while it is being deleted is answered with the same operation. */
    deleteEnvironment(
      at: EnvironmentRef,
      { preconditions = [], requestedBy = null, guard }: Deletion = {},
    ): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        await guard?.(tx)
        const { account, environmentId } = at
        const environment = await environments.requireWhole(account.id, at.appName, environmentId, tx)
        requireEtag(preconditions, environmentEtag(environment), 'environment')
        const operation = await markDeleting(tx, { account, appName: environment.appName, environmentId }, requestedBy)
        await previewRecords.followProtection(tx, environment.appId)
        return operation
      })
    },

    /** When this resolves, the app and its environments are hidden; their processes and files are removed afterwards. */
    async deleteApp(
      account: Account,
      appName: string,
      { force, preconditions = [], requestedBy = null }: Deletion & { force: boolean },
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
        for (const environmentId of ids)
          await markDeleting(tx, { account, appName: app.name, environmentId }, requestedBy)
        await apps.hide(tx, app.id)
        await apps.removeIfHiddenAndEmpty(tx, app.id)
      })
    },
  }
}

export type Requests = ReturnType<typeof createRequests>

function changeOf(
  before: Environment,
  given: Change['given'],
  mask: Change['mask'],
  { protection, variables }: { protection: ProtectionChange | undefined; variables: Variables },
): EnvironmentChange {
  const change: EnvironmentChange = {}
  if (mask.includes('displayName')) change.displayName = required('displayName', given.displayName)
  if (mask.includes('branch')) change.branch = required('branch', given.branch)
  if (mask.includes('cmsEnvironment')) change.cmsEnvironment = required('cmsEnvironment', given.cmsEnvironment)
  if (mask.includes('rootDirectory')) change.rootDirectory = given.rootDirectory ?? ''
  if (mask.includes('suspiciousOutput')) {
    change.suspiciousOutput = given.suspiciousOutput ?? resources.DEFAULT_SUSPICIOUS_OUTPUT
  }
  if (mask.includes('promotionChecks')) change.promotionChecks = wholeChecks(given.promotionChecks)
  if (mask.includes('contentSnapshots')) change.contentSnapshots = given.contentSnapshots ?? null
  const scaling = changedScaling(before.scaling, given, mask)
  if (scaling) change.scaling = scaling
  if (mask.includes('production')) change.isProduction = given.production ?? false
  if (mask.includes('badge')) change.hasBadge = given.badge ?? false
  if (mask.includes('publishPromiseSeconds')) change.publishPromiseSeconds = given.publishPromiseSeconds ?? null
  if (mask.includes('learnedCaching')) change.learnedCaching = given.learnedCaching ?? null
  if (before.preview && (change.branch ?? before.branch) !== before.branch)
    throw fieldInvalid('branch', 'cannot be changed: a preview is of one branch')
  if (change.isProduction && before.preview)
    throw fieldInvalid('production', 'must be false: search engines do not list previews')
  if (protection) change.protection = { ...before.protection, ...protection }
  if (mask.includes('shellVariables')) {
    change.variables = variables.seal(before.id, given.shellVariables ?? [], before.variables)
  }
  return change
}

const wholeChecks = (given: resources.ChangedPromotionChecks = {}): resources.PromotionChecks => ({
  ...resources.DEFAULT_PROMOTION_CHECKS,
  ...given,
})

function requireActivatable(deployment: DeploymentHead) {
  if (isActivatable(deployment)) return
  const why =
    deployment.discardTime === null
      ? `A deployment that is ${deployment.state} cannot be made live.`
      : 'Its files were removed to free space for newer deployments.'
  throw new Problem('DEPLOYMENT_NOT_ACTIVATABLE', why)
}

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

/** What is given of a new environment, without what is sealed or looked up. */
function draftOf(given: resources.NewEnvironment) {
  const scaling = newScaling(given)
  return {
    displayName: given.displayName,
    branch: given.branch,
    cmsEnvironment: cmsEnvironmentOf(given),
    rootDirectory: given.rootDirectory ?? '',
    ...(given.suspiciousOutput ? { suspiciousOutput: given.suspiciousOutput } : {}),
    ...(given.promotionChecks ? { promotionChecks: wholeChecks(given.promotionChecks) } : {}),
    ...(given.contentSnapshots ? { contentSnapshots: given.contentSnapshots } : {}),
    ...(scaling ? { scaling } : {}),
    isProduction: given.production ?? false,
    hasBadge: given.badge ?? false,
    publishPromiseSeconds: given.publishPromiseSeconds ?? null,
    learnedCaching: given.learnedCaching ?? null,
  }
}
