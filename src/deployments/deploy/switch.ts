/**
 * One transaction makes another deployment live; the edge follows; the old deployment is drained and stopped afterwards. If
 * visitors already get the same output, one transaction records that, and nothing is switched.
 */
import { allVariables, type Environment, type Environments } from '../../apps/index.ts'
import type { Log } from '../../base/index.ts'
import type { Build, Builds } from '../../builds/index.ts'
import { liveText } from '../../contract/index.ts'
import type { Operations } from '../../operations/index.ts'
import type { Instances } from '../../runtime/index.ts'
import type { LineLogs, Sql } from '../../storage/index.ts'
import type { EarlierFiles } from '../earlier-files.ts'
import type { Folders } from '../folders.ts'
import type { Publishing } from '../publishing/publishing.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Pins } from '../records/pins.ts'
import type { Deployment } from '../records/rows.ts'
import type { Routing } from '../routing.ts'
import { runtimeLogOf } from './launch.ts'
import { isUnchanged } from './unchanged.ts'

type Parts = {
  sql: Sql
  log: Log
  environments: Environments
  builds: Pick<Builds, 'require'>
  deployments: Deployments
  operations: Operations
  instances: Pick<Instances, 'retire' | 'holds' | 'say'>
  folders: Folders
  routing: Routing
  earlierFiles: Pick<EarlierFiles, 'switchWith' | 'withdraw'>
  pins: Pick<Pins, 'follow'>
  logs: Pick<LineLogs, 'nextNumber'>
  publishing?: Pick<Publishing, 'switching'>
  /** Called when visitors get a deployment. */
  onLive?(environmentId: string): void
  /** Called when a deployment is live, and the one before it has ended. */
  onSwitched?(environmentId: string): void
}

export function createSwitch(parts: Parts) {
  const { sql, log, environments, builds, deployments, operations, instances, folders, routing, pins } = parts
  const { earlierFiles } = parts
  const retiring = new Set<Promise<void>>()

  async function retire(environmentId: string, deployment: string) {
    await instances.retire(deployment, { isDrained: true })
    // Removes what it wrote while it ran: made live again, it starts from its build. Skipped if it is started again already.
    await folders.removeRun(environmentId, deployment, instances.holds)
  }

  /** Writes into the log of the app that the deployment is live. A failure to write does not undo the switch. */
  async function markLive(environmentId: string, { id, buildId }: Deployment) {
    try {
      const appLog = { ...(await runtimeLogOf(environmentId, parts.logs)), secrets: [] }
      await instances.say(appLog, 'LIVE', liveText(id, buildId))
    } catch (error) {
      log.warn({ err: error, deployment: id }, 'the log of an app could not record that a deployment is live')
    }
  }

  return {
    /**
     * When it resolves, every new request gets the new deployment. Pages of the one before still load their files, unless
     * the build is clean: a Clean Rebuild leaves nothing of what was before.
     */
    async to(environment: Environment, deployment: Deployment, operationId: string, { isClean = false } = {}) {
      const last = (await environments.byId(sql, environment.id))?.liveDeployment ?? null
      const switched = { environmentId: environment.id, live: deployment.id, last }
      const publish = await parts.publishing?.switching(environment, operationId)
      const old = await earlierFiles.switchWith(switched, { keepsEarlier: !isClean }, (index) =>
        sql.transaction(async (tx) => {
          const current = await environments.byId(tx, environment.id)
          const before = current?.liveDeployment ?? null
          if (before && before !== deployment.id) await deployments.setRetired(tx, before)
          if (isClean) await deployments.withdrawEarlier(tx, environment.id)
          await environments.setLive(tx, environment.id, deployment.id)
          await deployments.setLive(tx, deployment.id, { namesContent: environment.learnedCaching !== null })
          await deployments.setEarlierIndex(tx, deployment.id, index)
          const operation = await operations.setDeployment(tx, operationId, deployment.id)
          if (operation) await pins.follow(tx, operation, deployment)
          await routing.touch(tx, environment.id)
          await publish?.switched(tx, deployment.id)
          return before
        }),
      )
      await routing.publish()
      await publish?.visible()
      parts.onLive?.(environment.id)
      if (old !== deployment.id) await markLive(environment.id, deployment)
      const isReplaced = old !== null && old !== deployment.id
      const done = (isReplaced ? retire(environment.id, old) : Promise.resolve())
        .catch((error) => log.error({ err: error, deployment: old }, 'an old deployment could not be retired'))
        .finally(() => {
          retiring.delete(done)
          parts.onSwitched?.(environment.id)
        })
      retiring.add(done)
    },

    /** If visitors already get this build's output, the operation is given the live deployment. Resolves to whether they do. */
    async stay(environment: Environment, build: Build, operationId: string): Promise<boolean> {
      const { id, accountId } = environment
      const variables = allVariables(environment)
      const stays = await sql.transaction(async (tx) => {
        const live = (await environments.byId(tx, id))?.liveDeployment
        const deployment = live ? await deployments.find(tx, live) : undefined
        if (!deployment) return false
        const { output } = await builds.require({ accountId, environmentId: id }, deployment.buildId, tx)
        if (!isUnchanged({ ...build, variables }, { ...deployment, output })) return false
        const operation = await operations.setDeployment(tx, operationId, deployment.id, { isUnchanged: true })
        if (operation) await pins.follow(tx, operation, deployment)
        return true
      })
      if (stays && build.isClean) await earlierFiles.withdraw(id)
      return stays
    },

    /** Ends a deployment that gets no more requests. */
    retire,

    /** Resolves when no deployment is being retired. */
    async settled() {
      await Promise.all(retiring)
    },
  }
}

export type Switch = ReturnType<typeof createSwitch>
