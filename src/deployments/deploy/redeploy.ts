/** Deployments without a build: an older one is made live again, or the same output gets other variables. */
import type { Environments } from '../../apps/index.ts'
import type { Builds } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Finish, Handler, OperationRecord } from '../../operations/index.ts'
import type { Sql } from '../../storage/index.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Retries } from '../records/retries.ts'
import type { Routing } from '../routing.ts'
import type { ImageSteps } from './image.ts'
import type { Launcher } from './launch.ts'
import type { BeginSuccession } from './succession.ts'
import type { Switch } from './switch.ts'

type Parts = {
  sql: Sql
  builds: Builds
  environments: Environments
  deployments: Deployments
  launcher: Launcher
  imageSteps: Pick<ImageSteps, 'restore'>
  switching: Switch
  beginSuccession: BeginSuccession
  retries: Pick<Retries, 'end'>
  routing: Pick<Routing, 'publish'>
  finishWithEnvironment(operation: OperationRecord): Finish
}

export function createRedeploy(parts: Parts): { activate: Handler; update: Handler } {
  const { sql, builds, environments, deployments, launcher, switching, finishWithEnvironment } = parts

  async function goLive(
    operation: OperationRecord,
    deploymentId: string,
    work: Parameters<Handler>[1],
  ): Promise<Finish> {
    const environment = await environments.byId(sql, operation.environmentId)
    const deployment = await deployments.find(sql, deploymentId)
    if (!environment || !deployment) throw new Problem('DEPLOYMENT_NOT_FOUND')
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const build = await builds.require(path, deployment.buildId)
    await using _succession = await parts.beginSuccession(environment.id)
    const live = environment.liveDeployment ? await deployments.find(sql, environment.liveDeployment) : undefined
    const replaced = live && live.id !== deployment.id ? { replaced: live } : {}
    await work.enter('STARTING')
    await parts.imageSteps.restore(environment, build, work.signal)
    await launcher.start(environment, deployment, build, { signal: work.signal, ...replaced })
    await work.enter('SWITCHING')
    await switching.to(environment, deployment, operation.id)
    return finishWithEnvironment(operation)
  }

  return {
    /** A user has decided what is live, so the service stops retrying builds by itself. */
    async activate(operation, work) {
      const finish = await goLive(operation, operation.activates ?? '', work)
      return async (tx) => {
        await parts.retries.end(tx, operation.environmentId)
        return finish(tx)
      }
    },

    /**
     * Who may see the site and the number of instances change at once. If the variables of the live deployment are not those of the environment any more, it is
     * replaced by one with the new ones.
     */
    async update(operation, work) {
      await parts.routing.publish()
      const environment = await environments.byId(sql, operation.environmentId)
      const live = environment?.liveDeployment ? await deployments.find(sql, environment.liveDeployment) : undefined
      if (environment && live) await launcher.scale(live.id, environment)
      if (!environment || !live || JSON.stringify(live.variables) === JSON.stringify(environment.variables)) {
        return finishWithEnvironment(operation)
      }
      const path = { accountId: environment.accountId, environmentId: environment.id }
      const next = await deployments.makeFor(operation.id, path, {
        buildId: live.buildId,
        variables: environment.variables,
      })
      try {
        return await goLive(operation, next.id, work)
      } catch (error) {
        if (!(error instanceof Problem) || work.signal.aborted) throw error
        await launcher.giveUp(environment.id, operation.id)
        return async (tx) => {
          await deployments.setFailed(tx, operation.id)
          return { error }
        }
      }
    },
  }
}
