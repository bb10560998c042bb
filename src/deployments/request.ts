/**
 * Asking for a change: one transaction writes what is wanted and the operation that brings it about. When it is committed
 * the caller gets the operation, and the work cannot be lost any more.
 */
import type { Account } from '../accounts/index.ts'
import type { Apps, EnvironmentChange, Environments, Variables } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import type { Archive, Builds } from '../builds/index.ts'
import { fieldInvalid, names, Problem, type resources } from '../contract/index.ts'
import type { Operation, OperationPath, Operations } from '../operations/index.ts'
import type { Sql, Transaction } from '../storage/index.ts'
import type { Asked, Ledger } from '../triggers/index.ts'
import { type Deployments, isActivatable } from './deployments.ts'
import type { Routing } from './routing.ts'

type Parts = {
  sql: Sql
  clock: Clock
  apps: Apps
  environments: Environments
  variables: Variables
  operations: Operations
  builds: Builds
  deployments: Deployments
  ledger: Ledger
  routing: Pick<Routing, 'touch'>
}

/** A build that is asked for by calls that come in bursts begins when none came for so long, or so long after the first. */
export type Quiet = { ms: number; mostMs: number }

/** Whoever asked before it began may ask together. */
export type Rebuild = { asked: readonly Asked[]; quiet?: Quiet }

type BuildTrigger = 'UPLOAD' | 'REBUILD' | 'CLEAN_REBUILD'

const QUEUE_MOST = 1000

export const CHANGEABLE = ['displayName', 'cmsEnvironment', 'shellVariables', 'rootDirectory'] as const
export type Changeable = (typeof CHANGEABLE)[number]

export function createRequests(parts: Parts) {
  const { sql, clock, apps, environments, variables, operations, builds, deployments, ledger, routing } = parts

  async function inOneTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await sql.transaction(work)
    operations.announce()
    return result
  }

  async function markDeleting(tx: Transaction, account: Account, appName: string, id: string): Promise<Operation> {
    const path = { accountId: account.id, appName, environmentId: id }
    const already = await operations.unfinished(tx, path, 'DELETE')
    if (already) return already
    // A build under way would only be thrown away.
    await operations.cancelAll(tx, path)
    await environments.markDeleting(tx, id)
    await routing.touch(tx)
    return operations.request(tx, path, 'DELETE')
  }

  /** Builds are bounded: at most one runs and one waits for each environment, and so many wait in all. */
  async function requestBuild(
    tx: Transaction,
    path: OperationPath,
    trigger: BuildTrigger,
    archive: Archive,
    notBefore: number | null = null,
  ): Promise<Operation> {
    if ((await operations.countWaitingBuilds(tx)) >= QUEUE_MOST) {
      throw new Problem('QUEUE_FULL', undefined, { retryAfterSeconds: 60 })
    }
    const id = builds.newId()
    const operation = await operations.request(tx, path, trigger, { lane: 'build', build: id, notBefore })
    const isClean = trigger === 'CLEAN_REBUILD'
    await builds.insert(tx, path, { id, operationId: operation.id, trigger, isClean, archive })
    return operation
  }

  async function requireOpen(tx: Transaction, account: Account, appName: string, id: string) {
    const environment = await environments.require(account.id, appName, id, tx)
    if (environment.state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
    return { environment, path: { accountId: account.id, appName: environment.appName, environmentId: id } }
  }

  /** From the last archive. One that waits already is joined; the strongest wins. All who asked are in the ledger. */
  async function rebuildIn(
    tx: Transaction,
    account: Account,
    appName: string,
    id: string,
    { asked, quiet }: Rebuild,
  ): Promise<Operation> {
    const { path } = await requireOpen(tx, account, appName, id)
    const archive = await builds.lastArchive(tx, id)
    if (!archive) throw new Problem('NOTHING_UPLOADED')
    const isClean = asked.some(({ action }) => action === 'CLEAN_REBUILD')
    const waiting = await operations.waitingBuild(tx, path)
    const trigger = isClean ? 'CLEAN_REBUILD' : 'REBUILD'
    const operation = waiting
      ? await join(tx, waiting, { isClean, quiet })
      : await requestBuild(tx, path, trigger, archive, settlesUntil(clock.now(), quiet))
    await ledger.add(tx, id, asked, { answer: 200, operationId: operation.id })
    return operation
  }

  async function join(
    tx: Transaction,
    waiting: Operation,
    { isClean, quiet }: { isClean: boolean; quiet: Quiet | undefined },
  ): Promise<Operation> {
    if (isClean) {
      await builds.makeClean(tx, waiting.build)
      await operations.makeClean(tx, waiting.id)
    }
    // One that could begin at once is not put off; and whoever does not ask for quiet wants it now.
    const notBefore = waiting.notBefore === null ? null : settlesUntil(waiting.createTime, quiet)
    if (notBefore !== waiting.notBefore) await operations.setNotBefore(tx, waiting.id, notBefore)
    const isRebuild = waiting.trigger === 'REBUILD'
    return { ...waiting, notBefore, trigger: isClean && isRebuild ? 'CLEAN_REBUILD' : waiting.trigger }
  }

  function settlesUntil(firstTime: number, quiet: Quiet | undefined): number | null {
    if (!quiet || quiet.ms === 0) return null
    return Math.min(clock.now() + quiet.ms, firstTime + quiet.mostMs)
  }

  return {
    /** A newer upload takes the place of one that waits. A rebuild that waits is satisfied by it. */
    upload(account: Account, appName: string, id: string, archive: Archive): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const { path } = await requireOpen(tx, account, appName, id)
        const waiting = await operations.waitingBuild(tx, path)
        const operation = await requestBuild(tx, path, 'UPLOAD', archive)
        if (waiting?.trigger === 'UPLOAD') {
          const newer = names.operationResource(
            { account: account.name, app: path.appName, environment: id },
            operation.id,
          )
          const problem = new Problem('SUPERSEDED', `A newer upload took its place: ${newer}.`, {
            metadata: { operation: newer },
          })
          await operations.abort(tx, waiting.id, problem)
          await builds.end(tx, waiting.build, { state: 'CANCELLED', durations: {}, failure: null })
        } else if (waiting) {
          await operations.satisfyBy(tx, waiting.id, operation.id)
          await builds.end(tx, waiting.build, { state: 'CANCELLED', durations: {}, failure: null })
        }
        return operation
      })
    },

    rebuild(account: Account, appName: string, id: string, wanted: Rebuild): Promise<Operation> {
      return inOneTransaction((tx) => rebuildIn(tx, account, appName, id, wanted))
    },

    /** The same as part of somebody else's transaction, who calls `announce` of operations once it is committed. */
    rebuildIn,

    activate(account: Account, appName: string, id: string, deploymentId: string): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const { path } = await requireOpen(tx, account, appName, id)
        const deployment = await deployments.require(path, deploymentId, tx)
        if (!isActivatable(deployment)) {
          const why =
            deployment.discardTime === null
              ? `A deployment that is ${deployment.state} cannot be made live.`
              : 'Its files were removed to make room for newer deployments.'
          throw new Problem('DEPLOYMENT_NOT_ACTIVATABLE', why)
        }
        return operations.request(tx, path, 'ACTIVATE', { activates: deployment.id, build: deployment.buildId })
      })
    },

    createEnvironment(account: Account, appName: string, given: resources.NewEnvironment): Promise<Operation> {
      const id = environments.newId()
      const draft = {
        displayName: given.displayName,
        branch: given.branch,
        cmsEnvironment: cmsEnvironmentOf(given),
        rootDirectory: given.rootDirectory ?? '',
        variables: variables.seal(id, given.shellVariables ?? []),
      }
      return inOneTransaction(async (tx) => {
        const app = await apps.require(account.id, appName, tx)
        await environments.insert(tx, { id: app.id, accountId: account.id }, id, draft)
        return operations.request(tx, { accountId: account.id, appName: app.name, environmentId: id }, 'CREATE')
      })
    },

    /** The fields of the mask are set to what is given; a field that is in the mask and not given is cleared. */
    updateEnvironment(
      account: Account,
      appName: string,
      id: string,
      given: resources.ChangedEnvironment,
      mask: readonly Changeable[],
    ): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const before = await environments.require(account.id, appName, id, tx)
        if (before.state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
        const change: EnvironmentChange = {}
        if (mask.includes('displayName')) change.displayName = required('displayName', given.displayName)
        if (mask.includes('cmsEnvironment')) change.cmsEnvironment = required('cmsEnvironment', given.cmsEnvironment)
        if (mask.includes('rootDirectory')) change.rootDirectory = given.rootDirectory ?? ''
        if (mask.includes('shellVariables')) {
          change.variables = variables.seal(id, given.shellVariables ?? [], before.variables)
        }
        await environments.update(tx, before, change)
        return operations.request(tx, { accountId: account.id, appName: before.appName, environmentId: id }, 'UPDATE')
      })
    },

    /** A second call while it is being deleted is answered with the same operation. */
    deleteEnvironment(account: Account, appName: string, id: string): Promise<Operation> {
      return inOneTransaction(async (tx) => {
        const { appName: name } = await environments.require(account.id, appName, id, tx)
        return markDeleting(tx, account, name, id)
      })
    },

    /** The app and its environments are out of sight when this resolves; what they hold is taken down afterwards. */
    async deleteApp(account: Account, appName: string, { force }: { force: boolean }): Promise<void> {
      await inOneTransaction(async (tx) => {
        const app = await apps.require(account.id, appName, tx)
        const ids = await environments.idsOf(tx, app.id)
        if (ids.length > 0 && !force) {
          throw new Problem('APP_HAS_ENVIRONMENTS', `The app ${app.name} has ${ids.length} environment(s).`, {
            metadata: { environments: String(ids.length) },
          })
        }
        for (const id of ids) await markDeleting(tx, account, app.name, id)
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
